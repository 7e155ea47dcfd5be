/** A two-year protocol for a policy without one. */
export const examplePlan = {
  scheduling_mode: 'edc' as const,
  windows: [],
  event_definitions: [
    { event_oid: 'BASELINE', name: 'Baseline', target_day: 0, window_before: 0, window_after: 7, is_baseline: true },
    { event_oid: 'WEEK_2', name: 'Week 2', target_day: 14, window_before: 2, window_after: 4 },
    { event_oid: 'MONTH_1', name: 'Month 1', target_day: 30, window_before: 5, window_after: 7 },
    {
      event_oid: 'QUARTER',
      name: 'Quarterly visit',
      target_day: 91,
      window_before: 7,
      window_after: 14,
      repeating: { count: 4, every_days: 91 },
    },
    { event_oid: 'MONTH_18', name: 'Month 18', target_day: 547, window_before: 14, window_after: 14 },
  ],
  holiday_calendars: [
    {
      name: 'Example',
      site_code: undefined,
      weekend_days: [6, 7],
      holidays: Array.from({ length: 12 }, (_, i) => 2024 + i).flatMap((year) => [
        { date: `${year}-01-01`, name: 'New Year’s Day' },
        { date: `${year}-05-01`, name: 'Labour Day' },
        { date: `${year}-12-24`, name: 'Christmas Eve' },
        { date: `${year}-12-25`, name: 'Christmas Day' },
        { date: `${year}-12-26`, name: 'Second Day of Christmas' },
        { date: `${year}-12-31`, name: 'New Year’s Eve' },
      ]),
    },
  ],
};
