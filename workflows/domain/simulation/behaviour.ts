import Type from 'typebox';
import type { Static } from 'typebox';

const share = (byDefault: number, description: string) =>
  Type.Number({ minimum: 0, maximum: 1, default: byDefault, description });
const days = (byDefault: number, description: string, most = 365) =>
  Type.Number({ minimum: 0, maximum: most, default: byDefault, description });

/** The behaviour of people in a simulated study: shares from 0 to 1, days. Missing fields have their defaults. */
export const Behaviour = Type.Object(
  {
    enrolment_days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1826,
        description:
          'participants arrive evenly over so many days; default: half of the simulated time, a year at most',
      }),
    ),
    consent_rate: share(0.97, 'who arrives and signs a consent'),
    consent_delay_days: days(3, 'mean days from arrival to consent'),
    eligibility_rate: share(0.95, 'who is assessed and found eligible'),
    eligibility_delay_days: days(5, 'mean days from consent to the assessment'),
    randomization_delay_days: days(4, 'mean days from eligibility to randomization'),
    form_delay_days: days(2, 'mean days from arrival to the forms that the policy reads'),
    partial_date_rate: share(0.03, 'form dates that name a month only'),
    manual_entry_delay_days: days(
      2,
      'mean days from consent to a date entered by hand, where the policy takes one and none is final',
    ),
    completion_rate: share(0.85, 'visits that are completed inside their window'),
    late_rate: share(0.06, 'visits that are completed after their window'),
    late_days: Type.Integer({ minimum: 1, maximum: 365, default: 14, description: 'how late at most' }),
    on_target_rate: share(0.6, 'of those completed inside the window, the share on the target day itself'),
    avoid_days_off: share(0.9, 'who moves an appointment off a weekend or holiday where the window lets them'),
    reanchor_rate: share(0.05, 'finalized dates that are corrected by an override later'),
    reanchor_within_days: Type.Integer({
      minimum: 1,
      maximum: 1826,
      default: 180,
      description: 'when, at the latest, after the date was final',
    }),
    reanchor_max_shift_days: Type.Integer({
      minimum: 1,
      maximum: 365,
      default: 14,
      description: 'by how many days at most',
    }),
    approval_rate: share(0.9, 'override requests that are approved, where the policy wants an approval'),
    approval_delay_days: days(2, 'mean days from request to decision'),
    reconsent_rate: share(0.04, 'who signs a further consent within a year'),
    withdrawal_rate_per_year: share(0.1, 'who withdraws within a year'),
  },
  { additionalProperties: false },
);
export type Behaviour = Static<typeof Behaviour>;

/** A caller's input: any part of it. */
export const BehaviourInput = Type.Partial(Behaviour, { additionalProperties: false });
export type BehaviourInput = Static<typeof BehaviourInput>;

/** Completes the behaviour. `length` is the simulated time in days. */
export function completeBehaviour(input: BehaviourInput, length: number): Required<Behaviour> {
  const defaults = Object.fromEntries(
    Object.entries(Behaviour.properties).map(([name, schema]) => [name, (schema as { default?: number }).default]),
  );
  return {
    ...defaults,
    enrolment_days: Math.max(1, Math.min(365, Math.floor(length / 2))),
    ...input,
  } as Required<Behaviour>;
}
