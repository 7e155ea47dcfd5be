/** The thread in which a workbook is read, once: the API answers meanwhile, and all that it took is gone with it. */
import { answerReading } from '../reading-thread.js';
import { readWorkbook } from './read.js';

await answerReading(readWorkbook);
