import type { ComponentChildren } from 'preact';
import { isEnded } from '../../../db/studies/study-ended.js';
import { EventMappingSection } from '../capture/mapping.page.js';
import { CalendarDate } from '../html/date.js';
import { Notice } from '../html/form.js';
import { DefinitionList } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { StudyTabs } from './edit/study-tabs.js';
import { PolicyInWords } from './policy-in-words.js';
import { Batteries, Events, Members, Windows } from './study-lists.js';
import { mayConfigure, mayEnroll } from './studies.service.js';
import type { StudyView } from './studies.service.js';

/** A study: settings, enrollment-date policy, plan, and members. */
export function StudyPage({
  view,
  said,
  earlier = 0,
}: {
  view: StudyView;
  said?: 'created' | 'saved' | 'template' | undefined;
  /** Participants whose visits all move with what was saved, since an override had left them on the former date. */
  earlier?: number | undefined;
}) {
  const { words, user } = useUi();
  const { studies } = words;
  const { study, figures, policy, windows, events, batteries, members } = view;
  const configures = mayConfigure(user?.role);
  const enrolls = mayEnroll(user?.role) && !isEnded(study.status);
  const at = `/console/studies/${study.id}`;
  const notes = { created: studies.created, saved: studies.saved, template: studies.templateSaved };
  return (
    <>
      <p class="crumbs">
        <a href="/console/studies">{studies.toStudies}</a>
      </p>
      <h1>
        <bdi>{study.study_name}</bdi>{' '}
        <span class={`tag ${study.status === 'active' ? 'approved' : ''}`}>{studies.statuses[study.status]}</span>
      </h1>
      <StudyTabs studyId={study.id} tab="study" />
      {said && <Notice kind="good">{notes[said]}</Notice>}
      {earlier > 0 && <Notice kind="alert">{studies.earlier(earlier)}</Notice>}
      {figures.changes.map(({ change_id }) => (
        <Notice key={change_id}>
          {studies.underWay} <a href={`${at}/changes/${encodeURIComponent(change_id)}`}>{studies.showProgress}</a>
        </Notice>
      ))}
      {figures.participants === 0 && enrolls && (
        <FirstSteps
          studyId={study.id}
          hasVisits={isEdc(view) ? events.length > 0 : windows.length > 0}
          configures={configures}
        />
      )}
      <p class="buttons">
        {enrolls && (
          <a class="button" href={`${at}/enroll`}>
            {studies.enroll}
          </a>
        )}
        <a class="button" href={`/console/participants?study=${study.id}`}>
          {studies.showParticipants}
        </a>
        <a class="button" href={`/console/capture/${study.id}`}>
          {studies.capture}
        </a>
        <a class="button" href={`/console/reports/${study.id}`}>
          {studies.reports}
        </a>
      </p>
      <Settings view={view} configures={configures} />
      <section id="policy">
        <h2>{studies.policyTitle}</h2>
        <p class="quiet">{studies.policyWhat(figures.policy_version)}</p>
        {study.consent_mode !== 'econsent' && <Notice>{studies.consentElsewhere}</Notice>}
        <PolicyInWords policy={policy} />
        <details>
          <summary>{studies.showJson}</summary>
          <pre tabIndex={0}>{JSON.stringify(policy, null, 2)}</pre>
        </details>
        {configures && (
          <p class="after-table">
            <a class="button" href={`${at}/policy`}>
              {studies.editPolicy}
            </a>
          </p>
        )}
      </section>
      <Windows studyId={study.id} windows={windows} configures={configures} isEdc={isEdc(view)} />
      {(events.length > 0 || isEdc(view)) && <Events events={events} />}
      <Batteries batteries={batteries} />
      {figures.mapping && Object.keys(figures.mapping).length > 0 && (
        <EventMappingSection
          mapping={figures.mapping}
          batteries={Object.fromEntries(batteries.map((b) => [b.id, b.name]))}
        />
      )}
      {user?.role === 'admin' && <Members members={members} />}
    </>
  );
}

const isEdc = ({ study }: StudyView): boolean => study.config.scheduling_mode === 'edc';

/** The steps from an empty study to the first schedule. */
function FirstSteps({ studyId, hasVisits, configures }: { studyId: string; hasVisits: boolean; configures: boolean }) {
  const { studies } = useUi().words;
  return (
    <section class="card first-steps">
      <h2>{studies.first}</h2>
      <ol>
        <li>
          <a href="#policy">{studies.firstPolicy}</a>
        </li>
        {!hasVisits && configures && (
          <li>
            <a href={`/console/studies/${studyId}/windows/new`}>{studies.firstVisits}</a>
          </li>
        )}
        <li>
          <a href={`/console/studies/${studyId}/enroll`}>{studies.firstEnroll}</a>
        </li>
        <li>{studies.firstSchedule}</li>
      </ol>
    </section>
  );
}

function Settings({ view: { study, figures }, configures }: { view: StudyView; configures: boolean }) {
  const { studies } = useUi().words;
  const sites = figures.sites.map(({ site_code }) => site_code).join(', ');
  const facts: (readonly [string, ComponentChildren])[] = [
    [studies.code, <bdi>{study.study_code}</bdi>],
    [
      studies.description,
      <p class="typed-text" dir="auto">
        {study.description ?? '–'}
      </p>,
    ],
    [studies.participants, figures.participants],
    [studies.start, <CalendarDate value={study.start_date} />],
    [studies.end, study.end_date ? <CalendarDate value={study.end_date} /> : studies.open],
    [studies.timezone, study.timezone],
    [studies.consentMode, studies.consentModes[study.consent_mode]],
    [studies.exchange, study.datacapture_enabled ? studies.on : studies.off],
    [studies.sites, sites ? <bdi>{sites}</bdi> : studies.noSites],
  ];
  return (
    <section>
      <h2>{studies.settings}</h2>
      <DefinitionList of={facts} />
      {configures && (
        <p class="buttons">
          <a class="button" href={`/console/studies/${study.id}/settings`}>
            {studies.change}
          </a>
          <a class="button" href={`/console/studies/${study.id}/template`}>
            {studies.saveTemplate}
          </a>
        </p>
      )}
    </section>
  );
}
