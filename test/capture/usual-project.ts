/** The fields of the usual project. */
export const DICTIONARY = [
  'field_name,form_name,field_type,field_label,select_choices_or_calculations,text_validation_type_or_show_slider_number',
  'subject_id,enroll,text,Subject,,',
  'enrolled,enroll,text,Enrolled,,date_ymd',
  'code,enroll,text,Code,,',
  'lang,enroll,text,Language,,',
  'mail,enroll,text,Mail,,',
  'dob,enroll,text,Born,,date_ymd',
  'arms,enroll,checkbox,Arm,"a, A | b, B",',
  'rt_mean,cognition,text,Mean,,number_1dp',
].join('\n');

/** The usual project, with one user. */
export const projectFile = (projectId: number, token: string) => ({
  project_id: projectId,
  title: 'A study of memory',
  missing_data_codes: 'UNK, Unknown | NASK, Not asked',
  arms: [{ arm_num: 1, name: 'Arm 1' }],
  events: [
    { event_name: 'Baseline', day_offset: 0, offset_min: 0, offset_max: 7, forms: ['enroll', 'cognition'] },
    { event_name: 'Month 3', day_offset: 90, offset_min: 7, offset_max: 14, forms: ['cognition', 'enroll'] },
  ],
  instruments: [
    { name: 'enroll', label: 'Enrollment' },
    { name: 'cognition', label: 'Cognition' },
  ],
  data_access_groups: [{ unique_group_name: 'site_north', data_access_group_name: 'Site North' }],
  users: [{ username: 'api', token }],
});

/** How a study usually reads it. */
export const CONFIG = {
  enrollment_instrument: 'enroll',
  enrollment_event: 'baseline_arm_1',
  participant_field_mapping: {
    enrollment_date: 'enrolled',
    preferred_language: 'lang',
    email: 'mail',
    date_of_birth: 'dob',
    arm: 'arms',
  },
};

/** When its events are. */
export const EVENTS = {
  baseline_arm_1: { target_day: 0 },
  month_3_arm_1: { target_day: 90, window_before: 7, window_after: 14 },
};
