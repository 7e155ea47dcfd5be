/** The thread that reads one CSV file. */
import '../../../db/client/process/traces.js';
import { readCsvRows } from './csv-rows.js';
import { answerReading } from './reading-thread.js';

await answerReading(readCsvRows);
