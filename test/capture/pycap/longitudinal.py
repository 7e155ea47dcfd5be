"""PyCap against the longitudinal project: two arms, repeats, data access groups."""

import csv
import io
from datetime import datetime, timedelta, timezone

from common import equal, project, refused

p = project()

# The project itself
info = p.export_project_info()
equal(info["project_id"], 21, "project id")
equal(info["is_longitudinal"], 1, "is_longitudinal")
equal(info["has_repeating_instruments_or_events"], 1, "repeats")
equal(info["scheduling_enabled"], 1, "scheduling")
equal(p.is_longitudinal, True, "PyCap's own is_longitudinal")
equal(p.def_field, "record_id", "primary key")
equal(str(p.export_version()), "15.2.1", "version")
equal(str(p.redcap_version), "15.2.1", "version property")
equal("Longitudinal Cognition Study" in p.export_project_info(format_type="csv"), True, "project info in csv")

# Dictionary, instruments, events, arms
metadata = p.export_metadata()
equal(metadata[0]["field_name"], "record_id", "first field")
equal(len(metadata), len(p.field_names), "metadata length")
equal({f["text_validation_type_or_show_slider_number"] for f in p.export_metadata(fields=["rt_median"])}, {"number_1dp"}, "validation type")
equal({f["form_name"] for f in p.export_metadata(forms=["nback_results"])}, {"nback_results"}, "metadata by form")
equal(p.export_instruments()[0], {"instrument_name": "enrollment", "instrument_label": "Enrollment"}, "instrument")
equal(sorted(p.forms), sorted(i["instrument_name"] for i in p.export_instruments()), "forms")
events = p.export_events()
equal([e["unique_event_name"] for e in events][:3], ["baseline_arm_1", "month_3_arm_1", "month_6_arm_1"], "events")
equal((events[1]["day_offset"], events[1]["offset_min"], events[1]["offset_max"]), ("90", "7", "14"), "offsets")
equal([e["unique_event_name"] for e in p.export_events(arms=["2"])], ["baseline_arm_2", "month_3_arm_2"], "events of arm 2")
equal(p.export_arms(), [{"arm_num": 1, "name": "Training"}, {"arm_num": 2, "name": "Usual care"}], "arms")
equal(p.export_arms(arms=["2"]), [{"arm_num": 2, "name": "Usual care"}], "one arm")
mapping = p.export_instrument_event_mappings()
equal(mapping[0], {"arm_num": 1, "unique_event_name": "baseline_arm_1", "form": "enrollment"}, "form-event mapping")
equal(len(p.export_repeating_instruments_events()), 4, "repeating instruments and events")
names = {n["export_field_name"]: n for n in p.export_field_names()}
equal(names["conditions____9"]["choice_value"], "-9", "checkbox export name")
equal(p.export_field_names(field="sex")[0]["export_field_name"], "sex", "one field name")

# Users and groups
users = {u["username"]: u for u in p.export_users()}
equal(users["lyon_coordinator"]["data_access_group"], "site_lyon", "user's group")
equal(users["monitor"]["api_import"], 0, "user's right")
equal([g["unique_group_name"] for g in p.export_dags()], ["site_lyon", "site_graz"], "groups")

# Records out: json, csv, xml; flat and single values
records = p.export_records()
equal(len({r["record_id"] for r in records}), 8, "number of records")
ids = [r["record_id"] for r in p.export_records(fields=["record_id"], events=["baseline_arm_1"])]
equal(ids, ["0007", "7", "1001", "1002", "1003", "A-01/β", "B 12"], "record names are texts")
odd = p.export_records(records=["A-01/β"], forms=["enrollment"], fields=["record_id", "enrollment_date", "conditions"])
equal(odd[0]["enrollment_date"], "2025-02-10", "date")
equal((odd[0]["conditions___1"], odd[0]["conditions___2"]), ("0", "1"), "checkbox columns")
repeat = [r for r in p.export_records(records=["1001"]) if r["redcap_repeat_instrument"] == "adverse_events"]
equal([r["redcap_repeat_instance"] for r in repeat], [1, 2], "instances are numbers")
rows = list(csv.DictReader(io.StringIO(p.export_records(format_type="csv", records=["1001"], fields=["record_id", "contact_note"]))))
equal([r["contact_note"] for r in rows], ["Reminded of the visit.\nWill come by train.", 'Said "no change".'], "quoted csv")
equal("<![CDATA[A-01/β]]>" in p.export_records(format_type="xml", fields=["record_id"]), True, "xml")
eav = p.export_records(record_type="eav", records=["1001"], fields=["language"])
equal([(r["record"], r["redcap_event_name"], r["field_name"], r["value"]) for r in eav if r["field_name"] == "language"], [("1001", "baseline_arm_1", "language", "fr")], "eav")
equal("record,redcap_event_name" in p.export_records(format_type="csv", record_type="eav", records=["1001"]), True, "eav csv")
labelled = p.export_records(records=["1001"], forms=["enrollment"], fields=["record_id", "language", "conditions"], raw_or_label="label", export_checkbox_labels=True)
equal((labelled[0]["redcap_event_name"], labelled[0]["language"], labelled[0]["conditions___1"]), ("Baseline (Arm 1: Training)", "Français", "Hypertension"), "labels")
grouped = p.export_records(records=["1001"], fields=["record_id"], export_data_access_groups=True, export_survey_fields=True)
equal(grouped[0]["redcap_data_access_group"], "site_lyon", "group column")
equal([r["record_id"] for r in p.export_records(fields=["record_id", "sex"], filter_logic="[sex] = '3'")], ["+&=% 5"], "filter logic")
now = datetime.now(timezone.utc).replace(tzinfo=None)
equal(p.export_records(date_begin=now + timedelta(days=1)), [], "nothing was changed tomorrow")
equal(len(p.export_records(date_begin=now - timedelta(days=1), fields=["record_id"])) > 0, True, "changed since yesterday")
refused(lambda: p.export_records(fields=["no_such_field"]), "The following values in the parameter \"fields\" are not valid: 'no_such_field'", "unknown field")
refused(lambda: p.export_records(format_type="csv", events=["nowhere_arm_1"]), "ERROR", "unknown event in csv")

# Records in
new = [{"record_id": " N/1", "redcap_event_name": "baseline_arm_1", "language": "en", "total_trials": 12}]
equal(p.import_records(new), {"count": 1}, "import count")
two_events = [
    {"record_id": " N/1", "redcap_event_name": "baseline_arm_1", "rt_median": "401.5"},
    {"record_id": " N/1", "redcap_event_name": "month_3_arm_1", "rt_median": "388.0"},
]
equal(p.import_records(two_events), {"count": 1}, "count is of records, not rows")
equal(p.import_records(two_events, return_content="ids"), [" N/1"], "ids")
equal(p.import_records(two_events, return_content="nothing"), [{}], "nothing")
equal([r["rt_median"] for r in p.export_records(records=[" N/1"], fields=["record_id", "rt_median"])], ["401.5", "388.0"], "read back")
p.import_records([{"record_id": " N/1", "redcap_event_name": "baseline_arm_1", "language": ""}])
equal(p.export_records(records=[" N/1"], fields=["language"])[0]["language"], "en", "normal ignores blanks")
p.import_records([{"record_id": " N/1", "redcap_event_name": "baseline_arm_1", "language": ""}], overwrite="overwrite")
equal(p.export_records(records=[" N/1"], fields=["language"])[0]["language"], "", "overwrite erases")
equal(p.import_records("record_id,redcap_event_name,dob\n N/1,baseline_arm_1,31/12/1960\n", import_format="csv", date_format="DMY", return_format_type="csv"), "1", "csv import")
equal(p.export_records(records=[" N/1"], fields=["dob"])[0]["dob"], "1960-12-31", "date format")
xml = "<records><item><record_id> N/1</record_id><redcap_event_name>baseline_arm_1</redcap_event_name><sex>2</sex></item></records>"
equal("<count>1</count>" in p.import_records(xml, import_format="xml", return_format_type="xml"), True, "xml import")
refused(lambda: p.import_records([{"record_id": "x", "redcap_event_name": "baseline_arm_1", "rt_median": "22"}]), '"x","rt_median","22","The value you provided could not be validated', "number_1dp wants 22.0")
refused(lambda: p.import_records([{"record_id": "x", "redcap_event_name": "baseline_arm_1", "ae_term": "Cough"}]), "not designated for the event named", "field of another event")
refused(lambda: p.import_records([{"record_id": "x", "redcap_event_name": "baseline_arm_1", "nope": "1"}]), "not found in the project as real data fields: nope", "unknown field")
equal("x" in {r["record_id"] for r in p.export_records(fields=["record_id"])}, False, "a refused import wrote nothing")

# What the token may not do
refused(lambda: p.import_arms([{"arm_num": 3, "name": "x"}]), "Project Design", "arms import")
refused(lambda: project("CAPTURE_READ_ONLY_TOKEN").import_records(new), "API Import/Update", "read-only token")
refused(lambda: project("CAPTURE_WRONG_TOKEN").export_project_info(), "You do not have permissions to use the API", "wrong token")

# Deleting
equal(p.delete_records([" N/1"]), 1, "delete")
refused(lambda: p.delete_records([" N/1"]), "do not exist", "delete again")
equal(p.delete_records(["1001"], event="month_3_arm_1", instrument="adverse_events", repeat_instance=1), 1, "delete one instance")
left = [r["redcap_repeat_instance"] for r in p.export_records(records=["1001"]) if r["redcap_repeat_instrument"] == "adverse_events"]
equal(left, [2], "the other instance stays")

print("longitudinal: all as expected")
