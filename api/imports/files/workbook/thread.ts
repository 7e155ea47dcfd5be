/** The thread that reads one workbook: the API continues meanwhile, and the thread's memory is freed with it. */
import '../../../../db/client/process/traces.js';
import { answerReading } from '../reading-thread.js';
import { readWorkbook } from './read.js';

await answerReading(readWorkbook);
