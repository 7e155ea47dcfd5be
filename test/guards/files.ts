import type { Guard } from './guard.js';

/** What comes in a file, and what a file gives away. */
export const fileGuards: readonly Guard[] = [
  {
    refuses: 'letters of another character set than that of the file',
    file: 'api/imports/files/text.ts',
    text: 'if (claimed !== undefined && !DETECTED.has(claimed) && !hasUtf8Mark(bytes))',
    without: 'if (claimed !== undefined && DETECTED.has(claimed) && !hasUtf8Mark(bytes))',
    test: 'test/data/upload-parts.test.ts',
    title: 'is in the character set that its part names',
  },
  {
    refuses: 'an external id of a participant who is not visible',
    file: 'api/imports/participant-import-write.ts',
    text: 'if (isHeld(row) || free.has(row.fields.participant_code))',
    without: "if (isHeld(row) || free.has(''))",
    test: 'test/data/import-portions.test.ts',
    title: 'who sees one site alone learns of codes of others only that they are taken, in each portion',
  },
  {
    refuses: 'a failed row that would be taken without its surplus cells',
    file: 'api/imports/files/failed-rows.ts',
    text: '...surplus(row.cells, this.headerCells.length),',
    without: '...surplus([], this.headerCells.length),',
    test: 'test/data/import-own-files.test.ts',
    title: 'of rows that failed has the cells beyond the header too',
  },
  {
    refuses: 'names of visits that people made up, in de-identified exports',
    file: 'db/exports/statement.ts',
    text: 'deidentify ? (anonymous ?? own) : own',
    without: 'deidentify && anonymous === "" ? anonymous : own',
    test: 'test/data/deidentified.test.ts',
    title: 'of visits as csv has no id, code, address or instant of the study',
  },
];
