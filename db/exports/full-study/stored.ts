import { Writable } from 'node:stream';
import { writeStudyDocument } from './document.js';
import type { StudyDocument } from './document.js';
import type { Tx } from '../../client/database.js';

/** Reads a study back as the document that its export would be now. */
export async function storedDocument(tx: Tx, studyId: string, at: string): Promise<StudyDocument> {
  const chunks: Buffer[] = [];
  const sink = new Writable({
    write(chunk: Buffer | string, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  await writeStudyDocument(tx, studyId, at, sink);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as StudyDocument;
}
