import { condition, defineQuery, defineUpdate, proxyLocalActivities, setHandler } from '@temporalio/workflow';

export interface BareRow {
  id: string;
  body: string;
}

const { insertRow } = proxyLocalActivities<{ insertRow: (row: BareRow) => Promise<void> }>({
  startToCloseTimeout: '20s',
});
const updated = defineUpdate<void, [BareRow]>('updated');
const ready = defineQuery<boolean>('ready');

/** The least that can be called a durable write: an update whose one local activity does one INSERT. */
export async function bareUpdate(): Promise<void> {
  setHandler(updated, (row) => insertRow(row));
  setHandler(ready, () => true);
  await condition(() => false);
}
