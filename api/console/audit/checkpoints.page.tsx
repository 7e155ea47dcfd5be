import type { Problem } from '../../http/errors.js';
import { InstantText } from '../html/date.js';
import { EmptyState } from '../html/empty-state.js';
import { Form, Notice, RefusalNotice } from '../html/form.js';
import { Pager, withQuery } from '../html/pager.js';
import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { AUDIT, AuditHead, ChainName } from './tabs.js';

export const CHECKPOINTS = 25;
const PATH = `${AUDIT}/checkpoints`;

interface Shown {
  id: string;
  chain: string;
  rows: number;
  head: string;
  created_at: string;
  key_id: string;
}

/** The signed checkpoints, newest first. */
export function CheckpointsPage({
  items,
  total,
  skip = 0,
  studies,
  made,
  fault,
}: {
  items: Shown[];
  total: number;
  skip?: number;
  studies: readonly { id: string; study_code: string }[];
  /** The number of checkpoints signed just now. */
  made?: number | undefined;
  fault?: Problem;
}) {
  const { words } = useUi();
  const { audit } = words;
  return (
    <>
      <AuditHead tab="checkpoints" />
      {made !== undefined && <Notice kind="good">{audit.signed(made)}</Notice>}
      {fault && <RefusalNotice fault={fault} />}
      <p class="quiet">{audit.checkpointsWhat}</p>
      <Form action={PATH} class="alone">
        <button>{audit.sign}</button>
      </Form>
      {total === 0 ? (
        <EmptyState title={audit.noCheckpoints}>{audit.noCheckpointsWhat}</EmptyState>
      ) : (
        <Table<Shown>
          caption={audit.checkpointCaption(total)}
          rows={items}
          rowKey={({ id }) => id}
          columns={[
            { title: audit.chain, head: true, cell: ({ chain }) => <ChainName id={chain} studies={studies} /> },
            { title: audit.rows, numeric: true, cell: ({ rows }) => rows },
            { title: audit.signedAt, cell: ({ created_at }) => <InstantText value={created_at} bare /> },
            { title: audit.head, cell: ({ head }) => <code title={head}>{`${head.slice(0, 12)}…`}</code> },
            { title: audit.key, cell: ({ key_id }) => <code>{key_id}</code> },
          ]}
        />
      )}
      <Pager skip={skip} limit={CHECKPOINTS} total={total} href={(skip) => withQuery(PATH, { skip: skip })} />
    </>
  );
}
