/** What is worth telling of a record that was processed, or why it was not. Never a value of the record. */
export interface TriggerNotice {
  code: string;
  message: string;
}
