import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { contentHash } from '../../db/exports/full-study/content.js';
import type { StudyDocument } from '../../db/exports/full-study/document.js';

describe('The hash of a study’s content', () => {
  /** Two sessions whose trials are the same to the millisecond; each row where its id puts it, as in an export. */
  const documentOf = (first: string, second: string): StudyDocument => {
    const byId = (a: { session_id: string }, b: { session_id: string }) => (a.session_id < b.session_id ? -1 : 1);
    const chunk = (session_id: string) => ({ session_id, task: 'stroop', at: ['2026-01-01T10:00:00.000Z'] });
    return {
      study: { study_code: 'S' },
      tables: {
        assessment_sessions: [
          { id: first, started_at: '2026-01-01T09:00:00.000001Z' },
          { id: second, started_at: '2026-01-01T09:00:00.000002Z' },
        ],
        raw_trial_chunks: [chunk(first), chunk(second)].sort(byId),
      },
      audit: [],
    } as unknown as StudyDocument;
  };

  it('is the same whatever the ids are, also of rows that differ by ids alone', () => {
    const ids = [randomUUID(), randomUUID()].sort() as [string, string];
    const hash = contentHash(documentOf(ids[0], ids[1]));
    expect(contentHash(documentOf(ids[1], ids[0]))).to.equal(hash);
    expect(contentHash(documentOf(randomUUID(), randomUUID()))).to.equal(hash);
  });

  it('is another where a row belongs to another one', () => {
    const document = documentOf(randomUUID(), randomUUID());
    const [one] = document.tables['raw_trial_chunks']!;
    const moved = { ...document, tables: { ...document.tables, raw_trial_chunks: [one!, one!] } };
    expect(contentHash(moved)).not.to.equal(contentHash(document));
  });
});
