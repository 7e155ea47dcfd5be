import {
  condition,
  defineQuery,
  defineUpdate,
  proxyLocalActivities,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';

export interface BareRow {
  id: string;
  body: string;
  /** Operators see and find by search attributes what became of it, as they do for a participant's workflow. */
  shown: boolean;
}

const { insertRow } = proxyLocalActivities<{ insertRow: (row: BareRow) => Promise<void> }>({
  startToCloseTimeout: '20s',
});
const updated = defineUpdate<void, [BareRow]>('updated');
const ready = defineQuery<boolean>('ready');
const anchorStatus = defineSearchAttributeKey('AnchorStatus', SearchAttributeType.KEYWORD);
const awaitingSince = defineSearchAttributeKey('AwaitingSince', SearchAttributeType.DATETIME);
const waitingFor = defineSearchAttributeKey('WaitingFor', SearchAttributeType.KEYWORD_LIST);

/** The least that can be called a durable write: an update whose one local activity does one INSERT. */
export async function bareUpdate(): Promise<void> {
  setHandler(updated, async (row) => {
    await insertRow(row);
    if (!row.shown) return;
    upsertSearchAttributes([
      { key: anchorStatus, value: 'finalized' },
      { key: awaitingSince, value: null },
      { key: waitingFor, value: null },
    ]);
  });
  setHandler(ready, () => true);
  await condition(() => false);
}
