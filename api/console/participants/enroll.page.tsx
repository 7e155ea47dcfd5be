import { isEnded } from '../../../db/studies/study-ended.js';
import { Field, Form, Notice, errorOf } from '../html/form.js';
import type { FieldProps } from '../html/form.js';
import { refusalText } from '../html/refusal.js';
import { useUi } from '../html/ui.js';
import type { Problem } from '../../http/errors.js';

export interface EnrollView {
  study: { id: string; study_code: string; status: string };
  sites: { site_code: string; name: string | null }[];
  /** Whether this user enrolls also without a site, and not only at its own. */
  atAnySite: boolean;
}

/** The field of each conflict. */
const FIELD_OF: Record<string, string> = {
  PARTICIPANT_CODE_TAKEN: 'participant_code',
  DUPLICATE_EXTERNAL_ID: 'external_id',
  SITE_NOT_ASSIGNED: 'site_code',
};
const MORE: FieldProps['name'][] = [
  'external_id',
  'preferred_language',
  'email',
  'phone',
  'timezone',
  'date_of_birth',
  'arm',
];

/** Enrolls one participant. */
export function EnrollPage({
  view: { study, sites, atAnySite },
  values = {},
  fault,
}: {
  view: EnrollView;
  values?: Record<string, string>;
  fault?: Problem;
}) {
  const { words } = useUi();
  const { participants } = words;
  const error = (name: string): string | undefined => {
    if (fault && FIELD_OF[fault.code] === name) return participants.faults[fault.code];
    const code = fault?.options.errors?.find(({ path }) => path === name || path === `body.${name}`)?.code;
    return (code && participants.faults[code]) ?? errorOf(fault, name, words);
  };
  const anyField = ['participant_code', 'site_code', ...MORE].some((name) => error(name) !== undefined);
  const typeOf = (name: string) => (name === 'email' ? 'email' : name === 'date_of_birth' ? 'date' : 'text');
  const field = (name: string, required = false) => (
    <Field
      key={name}
      name={name}
      type={typeOf(name)}
      label={participants.fields[name]!}
      hint={participants.hints[name]}
      error={error(name)}
      value={values[name]}
      required={required}
      autocomplete="off"
    />
  );
  return (
    <section class="form-page">
      <p class="crumbs">
        <a href="/console/participants">{words.participant.back}</a>
      </p>
      <h1>{participants.enrollTitle(study.study_code)}</h1>
      {!fault && isEnded(study.status) && <Notice kind="alert">{words.problems.refusals.STUDY_CLOSED}</Notice>}
      {fault && (
        <Notice kind="alert" title={participants.refused}>
          {anyField ? undefined : refusalText(words, fault)}
        </Notice>
      )}
      <Form action={`/console/studies/${study.id}/enroll`} class="card">
        {field('participant_code', true)}
        {sites.length > 0 && (
          <div class="field">
            <label for="field-site_code">{participants.fields.site_code}</label>
            {error('site_code') && (
              <p class="error" id="field-site_code-error">
                {error('site_code')}
              </p>
            )}
            <select
              id="field-site_code"
              name="site_code"
              required={!atAnySite}
              {...(error('site_code') && {
                'aria-invalid': true as const,
                'aria-describedby': 'field-site_code-error',
              })}
            >
              {atAnySite ? (
                <option value="">{participants.noSite}</option>
              ) : (
                sites.length > 1 && <option value="">{participants.chooseSite}</option>
              )}
              {sites.map(({ site_code, name }) => (
                <option key={site_code} value={site_code} selected={site_code === values.site_code}>
                  {name && name !== site_code ? `${site_code} – ${name}` : site_code}
                </option>
              ))}
            </select>
          </div>
        )}
        <p class="quiet">{participants.optional}</p>
        {MORE.map((name) => field(name))}
        <button class="primary">{participants.submit}</button>
      </Form>
    </section>
  );
}
