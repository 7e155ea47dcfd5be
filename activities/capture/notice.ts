/** A remark on a processed record, or why it was not processed. Never a value of the record. */
export interface TriggerNotice {
  code: string;
  message: string;
}
