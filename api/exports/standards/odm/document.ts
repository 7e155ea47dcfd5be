import { Transform } from 'node:stream';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { copyOut } from '../../../../db/exports/stream.js';
import { yieldAfter } from '../../../../db/client/yield-after.js';
import { standardStudy, studyShape, subjectsSql } from '../../../../db/exports/standards.queries.js';
import type { Subject } from '../../../../db/exports/standards.queries.js';
import { metadataOf } from './metadata.js';
import { subjectData } from './subject.js';
import { element } from './xml.js';
import type { Tx } from '../../../../db/client/database.js';

export const ODM_VERSION = '1.3.2';

/**
 * Writes a study as a CDISC ODM document into `sink` and ends it: plan, sites, and the data of each participant, one at
 * a time. `tx`: a transaction with one snapshot, narrowed to the requester.
 * @returns the number of participants
 */
export async function writeOdm(tx: Tx, studyId: string, createdAt: string, sink: Writable): Promise<number> {
  const metadata = metadataOf((await standardStudy(tx, studyId))!, await studyShape(tx, studyId));
  const { studyOid, versionOid, study, admin } = metadata;
  const root = element('ODM', {
    xmlns: 'http://www.cdisc.org/ns/odm/v1.3',
    ODMVersion: ODM_VERSION,
    FileType: 'Snapshot',
    Granularity: 'All',
    FileOID: `urn:uuid:${randomUUID()}`,
    CreationDateTime: createdAt,
    AsOfDateTime: createdAt,
    SourceSystem: 'Research Assessment Platform',
  }).replace(/\/>$/, '>');
  sink.write(`<?xml version="1.0" encoding="UTF-8"?>\n${root}\n${study}\n${admin === '' ? '' : `${admin}\n`}`);
  const clinical = element('ClinicalData', { StudyOID: studyOid, MetaDataVersionOID: versionOid }).replace(/\/>$/, '>');
  const sql =
    `copy (select subject::text from (${subjectsSql(`p.study_id = ${pg.escapeLiteral(studyId)}::uuid`)}) x) to ` +
    `stdout with (format csv, delimiter e'\\x02', quote e'\\x01')`;
  return copyOut(tx, sql, (source) =>
    pipeline(
      source,
      eachLine(
        (line) => `${subjectData(JSON.parse(line) as Subject, metadata)}\n`,
        `${clinical}\n`,
        '</ClinicalData>\n</ODM>\n',
      ),
      sink,
    ),
  );
}

/** Transforms lines of text, between a head and a tail. */
function eachLine(write: (line: string) => string, head: string, tail: string): Transform {
  let rest: Buffer = Buffer.alloc(0),
    begun = false;
  const serveOthers = yieldAfter();
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const whole = Buffer.concat([rest, chunk]);
      const end = whole.lastIndexOf(10);
      rest = whole.subarray(end + 1);
      const lines = end < 0 ? '' : whole.subarray(0, end).toString('utf8').split('\n').map(write).join('');
      const text = `${begun ? '' : head}${lines}`;
      begun = true;
      void serveOthers().then(() => done(null, text));
    },
    flush(done) {
      done(null, `${begun ? '' : head}${tail}`);
    },
  });
}
