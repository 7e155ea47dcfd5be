/** The thread in which a CSV file is read, once. */
import { readCsvRows } from './csv-rows.js';
import { answerReading } from './reading-thread.js';

await answerReading(readCsvRows);
