import type {
  Member,
  OverviewBattery,
  OverviewEvent,
  OverviewWindow,
} from '../../../db/console/study-overview.queries.js';
import { AddButton, useChangeColumn } from '../html/record-links.js';
import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';

/** The visit windows of a study. */
export function Windows({
  studyId,
  windows,
  configures,
  isEdc,
}: {
  studyId: string;
  windows: OverviewWindow[];
  configures: boolean;
  isEdc: boolean;
}) {
  const { studies } = useUi().words;
  const at = `/console/studies/${studyId}/windows`;
  const change = useChangeColumn<OverviewWindow>(
    ({ id }) => `${at}/${id}`,
    ({ name }) => name,
  );
  return (
    <section id="windows">
      <h2>{studies.windows}</h2>
      {isEdc && <p class="quiet">{studies.edcNote}</p>}
      {windows.length === 0 ? (
        <p>{studies.noWindows}</p>
      ) : (
        <Table<OverviewWindow>
          caption={studies.windowsCaption(windows.length)}
          rows={windows}
          rowKey={({ id }) => id}
          columns={[
            {
              title: studies.windowName,
              head: true,
              cell: ({ name, is_baseline }) => (
                <>
                  <bdi>{name}</bdi> {is_baseline && <span class="tag">{studies.isBaseline}</span>}
                </>
              ),
            },
            { title: studies.day, numeric: true, cell: ({ target_day }) => target_day },
            {
              title: studies.window,
              cell: ({ window_before, window_after }) => studies.windowDays(window_before, window_after),
            },
            { title: studies.battery, cell: ({ battery }) => <bdi>{battery ?? studies.noBattery}</bdi> },
            ...(windows.some(({ datacapture_event }) => datacapture_event)
              ? [
                  {
                    title: studies.event,
                    cell: ({ datacapture_event }: OverviewWindow) => <bdi>{datacapture_event ?? '–'}</bdi>,
                  },
                ]
              : []),
            ...(configures ? [change] : []),
          ]}
        />
      )}
      {configures && <AddButton href={`${at}/new`} label={studies.addWindow} />}
    </section>
  );
}

/** The event definitions of a study that schedules by them. */
export function Events({ events }: { events: OverviewEvent[] }) {
  const { studies } = useUi().words;
  return (
    <section>
      <h2>{studies.events}</h2>
      <Table<OverviewEvent>
        caption={studies.eventsCaption(events.length)}
        rows={events}
        rowKey={({ id }) => id}
        columns={[
          { title: studies.windowName, head: true, cell: ({ name }) => <bdi>{name}</bdi> },
          {
            title: studies.day,
            cell: ({ target_day, repeating }) =>
              repeating ? `${target_day} (${studies.repeats(repeating.count, repeating.every_days)})` : target_day,
          },
          {
            title: studies.window,
            cell: ({ window_before, window_after }) => studies.windowDays(window_before, window_after),
          },
          { title: studies.battery, cell: ({ battery }) => <bdi>{battery ?? studies.noBattery}</bdi> },
        ]}
      />
    </section>
  );
}

/** The batteries of a study. */
export function Batteries({ batteries }: { batteries: OverviewBattery[] }) {
  const { studies } = useUi().words;
  return (
    <section>
      <h2>{studies.batteries}</h2>
      {batteries.length === 0 ? (
        <p>{studies.noBatteries}</p>
      ) : (
        <Table<OverviewBattery>
          caption={studies.batteriesCaption(batteries.length)}
          rows={batteries}
          rowKey={({ code }) => code}
          columns={[
            { title: studies.name, head: true, cell: ({ name }) => <bdi>{name}</bdi> },
            { title: studies.code, cell: ({ code }) => <bdi>{code}</bdi> },
            {
              title: studies.status,
              cell: ({ status }) => (
                <span class={`tag ${status === 'published' ? 'approved' : ''}`}>{studies.batteryStatuses[status]}</span>
              ),
            },
            { title: studies.version, numeric: true, cell: ({ published_version }) => published_version ?? '–' },
            { title: studies.tasks, numeric: true, cell: ({ tasks }) => tasks },
          ]}
        />
      )}
    </section>
  );
}

/** The members of a study. Only admins see them, as in the list of users. */
export function Members({ members }: { members: Member[] }) {
  const { words } = useUi();
  const { studies } = words;
  return (
    <section>
      <h2>{studies.members}</h2>
      <p class="quiet">{studies.membersWhat}</p>
      {members.length === 0 ? (
        <p>{studies.noMembers}</p>
      ) : (
        <Table<Member>
          caption={studies.membersCaption(members.length)}
          rows={members}
          rowKey={({ id }) => id}
          columns={[
            {
              title: studies.name,
              head: true,
              cell: ({ name, email }) => (
                <div>
                  <bdi>{name}</bdi>
                  <p class="quiet plain">
                    <bdi>{email}</bdi>
                  </p>
                </div>
              ),
            },
            { title: studies.role, cell: ({ role }) => words.roles[role as keyof typeof words.roles] },
            { title: studies.sites, cell: ({ sites }) => <bdi>{sites.join(', ') || studies.allSites}</bdi> },
            { title: studies.account, cell: ({ status }) => studies.accounts[status] ?? status },
          ]}
        />
      )}
      <p class="after-table">
        <a class="button" href="/console/users">
          {studies.manageMembers}
        </a>
      </p>
    </section>
  );
}
