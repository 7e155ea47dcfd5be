export { prepared } from './query.js';
