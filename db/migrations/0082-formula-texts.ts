/**
 * CSV texts that a spreadsheet would run: also after another separator, after blanks and quotes, and in full width
 * (db/exports/formula-text.ts does the same). Two patterns, which most texts do not match, come first.
 */
export const name = '0082-formula-texts';
const signs = String.raw`=+@\-\u2212\uFF1D\uFF0B\uFF0D\uFF20`;
const passedOver = String.raw`[ "''\u00A0\u200B\u3000\uFEFF]*`;
export const up = String.raw`
create or replace function csv_text(t text) returns text language sql immutable parallel safe as $$
  select case
    when t !~ '^${passedOver}[${signs}]' and t !~ '[;\t\r\n]' then t
    when t ~ '^-[0-9]+([.][0-9]+){0,1}([eE][-+]{0,1}[0-9]+){0,1}$' then t
    else case when t ~ '^([;\t\r\n]|${passedOver}[${signs}])' then '''' else '' end
      || regexp_replace(t, '([;\t\r\n])(${passedOver}[${signs}])', '\1''\2', 'g') end $$;
`;
