import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { problem, registeredErrors } from '../../api/http/errors.js';
import { entryText, refusalOf } from '../../api/console/html/refusal.js';
import { builtInTemplates } from '../../api/templates/templates.service.js';
import { isSaid, phrase } from '../../api/console/words/service/phrases.js';
import { auditCodes } from '../../api/console/words/service/audit-codes.js';
import type { TimelineRow } from '../../db/timeline/timeline.queries.js';
import { entryTitle } from '../../api/console/words/participants/timeline.js';
import { languages } from '../../api/console/words/words.js';
import type { Language } from '../../api/console/words/words.js';

const LANGUAGES = Object.keys(languages) as Language[];

/**
 * Refusals of what no page does: the capture clients' sessions, portals, tokens of programs, subscriptions to events.
 */
const NEVER_ON_PAGES = [
  'MALFORMED_JSON',
  'CONTEXT_CONFLICT',
  'INVALID_CURSOR',
  'PARTICIPANT_REQUIRED',
  'INVALID_REFRESH_TOKEN',
  'INVALID_SIGNATURE',
  'MISSING_SCOPE',
  'RESULTS_NOT_SHARED',
  'NOT_ACCEPTABLE',
  'EXPECTATION_FAILED',
  'IDEMPOTENCY_KEY_REUSED',
  'IDEMPOTENCY_IN_PROGRESS',
  'EMPTY',
  'TOO_MANY_SIMULATIONS',
  'CAREGIVER_INACTIVE',
  'CARES_FOR_NOBODY',
  'SESSION_UNKNOWN',
  'SESSION_EXPIRED',
  'SESSION_MISMATCH',
  'TASK_CONFLICT',
  'SUBSCRIPTION_DISABLED',
  'RANGE_NOT_SATISFIABLE',
  'NO_DELIVERY_REPORT',
  'HEADERS_TOO_LARGE',
];

/** Where the rules are that a page's form, file or date can break. */
const RULES_OF = [
  'api/anchor',
  'api/http/validation',
  'api/http/security',
  'api/identity',
  'api/imports',
  'api/participants',
  'api/reports',
  'api/scheduling',
  'api/studies',
  'api/console',
  'workflows/domain/anchor',
];
/** How a rule is named where it is broken. */
const NAMED = [
  /\bcode: '([A-Z_]{3,})'/g,
  /\b(?:brokenRule|invalid|fault|refused)\([^()]*?,\s*'([A-Z_]{3,})'/g,
  /\b(?:problem)\('([A-Z_]{3,})'/g,
];

/** Where sentences are that pages show as they are stored, and how they are written there. */
const SENTENCES: [string, RegExp][] = [
  ['workflows/domain/anchor/sources.ts', /reason: ['`](.+?)['`](?:,| \}|;)/g],
  ['workflows/domain/anchor/validation.ts', /message: ['`](\$\{date\}.+?)['`],/g],
  ['workflows/domain/anchor/preview.ts', /(?:notes\.push\(|notes: \[|const CLOSED = )'(.+?)'/g],
  ['workflows/domain/anchor/preview.ts', /'(completed: .+?)'/g],
  ['workflows/domain/anchor/preview.ts', /`(its target.+?)`/g],
  ['workflows/domain/assessment/quality.ts', /flag\('[A-Z_]+', \w+(?:\.\w+)?, ['`]([a-z].+?)['`]\)/g],
  ['workflows/domain/assessment/quality.ts', /warn\('[A-Z_]+', .+?, '(.+?)'\)/g],
  ['workflows/domain/assessment/times.ts', /message: '(.+?)'/g],
  ['workflows/domain/assessment/submission.ts', /message: '(.+?)'/g],
  [
    'workflows/domain/capture/mapping-check.ts',
    /^\s+(?:warn\([^`'"]*'[A-Z_]+', [^`'"]*(?:'\w+', )?)?[`'"](The .+?|A part.+?)[`'"][,)]/gm,
  ],
  [
    'workflows/domain/capture/results-check.ts',
    /`((?:The field|There is|Several visits).+?|The instrument "\$\{form\}" is designated.+?)`[,)]/g,
  ],
  ['workflows/domain/capture/push-values.ts', /return `((?:a|its) .+?)`/g],
  ['workflows/domain/notifications/explain.ts', /^ {2}\w+: '(.+?)',$/gm],
  ['workflows/domain/notifications/explain.ts', /why: ['`](It (?!is tried).+?)['`][,\s]/g],
  ['activities/notifications/smtp.ts', /['`](the mail server .+?)['`]/g],
  ['activities/notifications/gateway.ts', /RefusedMessage\(`(.+?)`/g],
  ['activities/notifications/web-push.ts', /^\s+(?:.*RefusedMessage\(|\? )?['`]((?:the|no) [a-z].+?)['`]/gm],
  ['activities/notifications/post-bytes.ts', /PRIVATE = '(.+?)'/g],
  ['activities/notifications/provider.ts', /^ {2}\w+: '(no .+?)',$/gm],
  ['activities/notifications/send.ts', /(?:RefusedMessage\(|reason: )'([a-z]+ .+?)'/g],
  ['workflows/domain/scheduling/events/plan.ts', /warning: `(.+?)`/g],
  ['api/imports/participant-import.service.ts', /message: `(The .+?)`/g],
  ['activities/capture/client/client.ts', /['`](The capture system .+?\.)['`]/g],
  ['activities/capture/client/connection.ts', /'((?:The study|There is) .+?\.)'/g],
  ['activities/capture/client/export.ts', /['`](The .+?\.)['`]/g],
  ['activities/capture/client/failure.ts', /message: ['"](.+?\.)['"]/g],
  ['activities/capture/client/http.ts', /['"`]((?:The (?:capture system|host name)|api_url) .+?\.)['"`]/g],
  ['activities/capture/client/project.ts', /'(The capture system .+?\.)'/g],
  ['activities/capture/triggers/open-trigger.ts', /'[A-Z_]+', '(.+?\.)'/g],
  ['activities/capture/push/attempt.ts', /'timeout', '(.+?\.)'/g],
  [
    'activities/capture/push/push-record.ts',
    /^\s+['`]((?:[A-Z_]+: )?The (?:capture system|record|results) .+?\.)['`][,.]/gm,
  ],
  ['activities/capture/write-batch.ts', /message: '(.+?\.)'/g],
  ['activities/capture/write-participants.ts', /^[^*]*['`]((?:What|Another|The participant|A record) .+?\.)['`]/gm],
  ['workflows/capture/datacapture-sync.workflow.ts', /message: '(.+?\.)'/g],
  ['workflows/capture/datacapture-trigger.workflow.ts', /message: '(.+?\.)'/g],
  ['workflows/capture/push-results.workflow.ts', /message: '(.+?\.)'/g],
];
/** How the audit log's codes are named where they are recorded. */
const AUDIT_CODES: [keyof (typeof auditCodes)['en'], RegExp][] = [
  ['actions', /\baction: '([a-z]+(?:_[a-z]+)+|log\w+)'/g],
  ['actions', /noteChange\(\w+, \w+, '([a-z_]+)'/g],
  ['records', /\bresource_type: '([a-z_]+)'/g],
];

/** Between the two lines of a sentence. */
const PARTED = /(['`"]) \+\n\s+\1/g;
/** What a template literal comes to, its parts filled in. */
const filled = (text: string): string =>
  text
    .replaceAll(/\$\{[^{}]*\?[^{}]*`[^`]*\$\{[^}]*\}[^`]*`[^{}]*\}/g, '')
    .replaceAll(/\$\{(?:arrivalOf|instead)[^}]*\}/g, '')
    .replaceAll(/\$\{[^}]*\}/g, '2024-03-10')
    .replace(/^(metrics that .+)$/, '$1: accuracy')
    .replaceAll(String.raw`\'`, "'");

function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes('words/'))
    .map((name) => readFileSync(join(folder, name), 'utf8'));
}

describe('the words of the console', () => {
  it('has words for each refusal that a page can show, in both languages', () => {
    const codes = registeredErrors().map(({ code }) => code);
    expect(NEVER_ON_PAGES.filter((code) => !codes.includes(code as never))).to.deep.equal([]);
    for (const language of LANGUAGES) {
      const without = codes.filter((code) => {
        const { title, what, detail } = refusalOf(languages[language], problem(code));
        return detail !== undefined || title === '' || what === '';
      });
      expect(without.sort(), language).to.deep.equal(
        NEVER_ON_PAGES.filter((code) => without.includes(code as never)).sort(),
      );
    }
    const { en, de } = languages;
    expect(Object.keys(de.problems.refusals).sort()).to.deep.equal(Object.keys(en.problems.refusals).sort());
  });

  it('has words for each rule that a form, a file or a date can break, in both languages', () => {
    const named = new Set<string>();
    for (const source of RULES_OF.flatMap(sourcesIn))
      for (const pattern of NAMED) for (const [, code] of source.matchAll(pattern)) named.add(code!);
    expect(named.size).to.be.greaterThan(60);
    const refusals = new Set([...registeredErrors().map(({ code }) => code as string), ...NEVER_ON_PAGES]);
    for (const language of LANGUAGES) {
      const { rules, refusals: said } = languages[language].problems;
      const without = [...named].filter((code) => !rules[code] && !said[code] && !refusals.has(code));
      expect(without.sort(), language).to.deep.equal([]);
    }
  });

  it('has words for each code of the audit log, in both languages', () => {
    const sources = ['api', 'activities'].flatMap(sourcesIn);
    const without: string[] = [];
    for (const [kind, pattern] of AUDIT_CODES) {
      const codes = new Set(sources.flatMap((text) => [...text.matchAll(pattern)].map(([, code]) => code!)));
      expect(codes.size, kind).to.be.greaterThan(2);
      for (const code of codes)
        for (const language of LANGUAGES)
          if (!auditCodes[language][kind][code]) without.push(`${language} ${kind}: ${code}`);
    }
    expect(without).to.deep.equal([]);
  });

  it('has words for each built-in template in German', () => {
    const { templates } = languages.de;
    expect(Object.keys(templates).sort()).to.deep.equal(
      builtInTemplates()
        .map(({ id }) => id)
        .sort(),
    );
  });

  it('has German words for each state and outcome of a trigger in the timeline', () => {
    const said = (what: string, outcome: string | null) =>
      entryTitle('de', {
        at: '',
        kind: 'trigger',
        what,
        id: '',
        planned: false,
        data: { instrument: 'enrollment', outcome },
      });
    for (const what of ['received', 'processing', 'processed', 'duplicate', 'failed'])
      expect(said(what, null)).not.to.include(what);
    for (const outcome of ['created', 'updated', 'unchanged', 'ignored', 'override_required'])
      expect(said('processed', outcome)).not.to.include(outcome.split('_')[0]);
  });

  it('says in the German timeline what the English one says: who signed, which message, why, how often', () => {
    const said = (kind: TimelineRow['kind'], what: string, data: Record<string, unknown>) =>
      entryTitle('de', { at: '', kind, what, id: '', planned: false, data });
    const signature = { name: 'Ada', meaning: 'approval' };
    expect(said('form', 'signed', { form_oid: 'AE', signature }))
      .to.include('Ada')
      .and.include('approval');
    expect(said('approval', 'approved', { new_enrollment_date: '2026-01-02', signature })).to.include('Ada');
    expect(said('form', 'entered', { form_oid: 'AE', origin: 'datacapture' })).to.include('Erfassungssystem');
    expect(said('eligibility', 'ineligible', { has_waiver: true })).to.include('mit einer Ausnahme');
    expect(said('session', 'completed', { source: 'offline' })).to.include('offline');
    expect(said('push', 'failed', { error_type: 'timeout', attempt: 3 }))
      .to.include('nicht rechtzeitig')
      .and.include('Versuch 3');
    expect(said('schedule', 'created', { version_number: 2, anchor_date_used: '2026-01-02', visits_generated: 1 }))
      .to.include('1 neue Visite')
      .and.not.include('Visiten');
    expect(said('reminder', 'sent', { notification_kind: 'magic_link', channel: 'sms' })).to.include('Link zum Portal');
    const why = said('reminder', 'suppressed', {
      notification_kind: 'visit_reminder',
      visit_name: 'Month 1',
      channel: 'email',
      reason: 'too_late',
    });
    expect(why).to.match(/^Erinnerung an „\u2068?Month 1\u2069?“ \(E-Mail\) nicht gesendet: ./);
    expect(
      said('anchor', 'CHANGED', {
        previous_enrollment_date: '2026-01-02',
        enrollment_date: '2026-01-02',
        source_type: 'randomization',
      }),
    ).to.equal('Einschlussdatum 02.01.2026 jetzt aus: Randomisierung');
  });

  it('fills in what a rule says of its limits, and names the field', () => {
    const entry = {
      path: 'body.study_name',
      code: 'MAX_LENGTH',
      message: 'body.study_name must not have more than 300 characters',
    };
    expect(entryText(languages.en.problems, entry)).to.equal('Study name: At most 300 characters.');
    expect(entryText(languages.de.problems, entry)).to.equal('Name der Studie: Höchstens 300 Zeichen.');
    const own = { code: 'CUSTOM_RULE', message: 'Nur werktags' };
    expect(entryText(languages.de.problems, own)).to.equal('Nur werktags.');
    // A limit that the service does not name is not made up.
    expect(entryText(languages.de.problems, { path: 'q', code: 'MAX_LENGTH', message: 'q is long' })).to.include(
      'is long',
    );
  });

  it('says each sentence of the domain that a page shows in German', () => {
    const without: string[] = [];
    let seen = 0;
    for (const [file, pattern] of SENTENCES) {
      const source = readFileSync(file, 'utf8').replaceAll(PARTED, '');
      const found = [...source.matchAll(pattern)].map(([, text]) => filled(text!));
      expect(found, `${file} ${String(pattern)}`).not.to.have.lengthOf(0);
      seen += found.length;
      without.push(...found.filter((text) => !isSaid('de', text)).map((text) => `${file}: ${text}`));
    }
    expect(seen).to.be.greaterThan(60);
    expect(without).to.deep.equal([]);
  });

  it('puts the parts of a sentence into words as well, and leaves alone what it does not know', () => {
    expect(phrase('de', 'It is not sent: the visit is over.')).to.equal(
      'Sie wird nicht gesendet: die Visite ist vorbei.',
    );
    expect(phrase('de', '2024-03-17 lies before the consent of 2024-03-20')).to.equal(
      'der 17.03.2024 liegt vor der Einwilligung vom 20.03.2024',
    );
    expect(
      phrase(
        'de',
        'As things are it will not be sent: the participant has no address for this channel; email is tried instead.',
      ),
    ).to.equal(
      'Nach jetzigem Stand wird sie nicht gesendet: die Person hat keine Adresse für diesen Weg; stattdessen wird E-Mail versucht.',
    );
    expect(phrase('de', 'HOLIDAY_SHIFTED: V1 2024-05-01 → 2024-05-02 (holiday: May Day)')).to.equal(
      'V1: vom 01.05.2024 auf den 02.05.2024 verschoben (Feiertag: May Day)',
    );
    expect(
      phrase('de', '2 days before the target date at 09:00 in Europe/Berlin, not from 22:00 to 07:00, by sms'),
    ).to.equal('2 Tage vor dem Zieldatum um 09:00 in Europe/Berlin, nicht von 22:00 bis 07:00, als SMS');
    expect(phrase('de', 'something new')).to.equal('something new');
    expect(phrase('en', 'not randomized')).to.equal('not randomized');
  });
});
