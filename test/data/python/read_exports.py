"""Reads exports as people do, with pandas, and says as JSON what it found."""
import json
import sys

import pandas

folder = sys.argv[1]


def told(frame):
    return {
        'rows': len(frame),
        'types': {name: str(kind) for name, kind in frame.dtypes.items()},
        'first': json.loads(frame.head(1).to_json(orient='records', date_format='iso'))[0] if len(frame) else None,
    }


dates = {'visits': ['target_date', 'window_open', 'window_close', 'completed_at'], 'raw_trials': ['timestamp'], 'task_summaries': ['started_at'], 'participants': ['enrollment_date', 'created_at']}
found = {}
for name, columns in dates.items():
    keep = {'participant_code': 'string', 'external_id': 'string', 'site_code': 'string'}
    found[name] = {
        'csv': told(pandas.read_csv(f'{folder}/{name}.csv', parse_dates=columns, dtype=keep)),
        'xlsx': told(pandas.read_excel(f'{folder}/{name}.xlsx', dtype=keep)),
        'ndjson': told(pandas.read_json(f'{folder}/{name}.ndjson', lines=True, dtype=keep, convert_dates=columns)),
    }
wide = pandas.read_csv(f'{folder}/wide.csv')
found['wide'] = told(wide)
zipped = pandas.read_csv(f'{folder}/dictionary.csv')
found['dictionary'] = {row['column']: row['written_as'] for _, row in zipped.iterrows()}
print(json.dumps(found))
