import { expect } from 'chai';
import { calendarFile } from '../../workflows/domain/scheduling/calendar-file.js';
import { nextWorkingDay } from '../../workflows/domain/scheduling/events/calendar.js';

describe('The last day of the calendar', () => {
  it('has no day after it in a calendar file: an event without an end takes its day', () => {
    const of = (target_date: string) =>
      calendarFile([
        {
          visit_key: 'k',
          target_date,
          name: 'Visit',
          description: '',
          cancelled: false,
          sequence: 0,
          updated_at: '2026-01-01T00:00:00.000Z',
        },
      ]).match(/DT(?:START|END)[^\r]*/g);
    expect(of('9999-12-31')).to.deep.equal(['DTSTART;VALUE=DATE:99991231']);
    expect(of('9999-12-30')).to.deep.equal(['DTSTART;VALUE=DATE:99991230', 'DTEND;VALUE=DATE:99991231']);
  });

  it('ends the search for a working day', () => {
    const never = { id: 'c', weekend_days: [1, 2, 3, 4, 5, 6, 7], holidays: [] };
    expect(nextWorkingDay(never, '9999-12-20', '9999-12-31')).to.equal(null);
    expect(nextWorkingDay({ ...never, weekend_days: [6, 7] }, '9999-12-25', '9999-12-31')).to.equal('9999-12-27');
  });
});
