/** The thread that reads one CSV file. */
import { readCsvRows } from './csv-rows.js';
import { answerReading } from './reading-thread.js';

await answerReading(readCsvRows);
