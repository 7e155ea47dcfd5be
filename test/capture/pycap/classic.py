"""PyCap against the classic project: no events, another primary key, records numbered by the system."""

from common import equal, project, refused

p = project()

info = p.export_project_info()
equal((info["project_id"], info["is_longitudinal"], info["record_autonumbering_enabled"]), (22, 0, 1), "project info")
equal(p.is_longitudinal, False, "PyCap's own is_longitudinal")
equal(p.def_field, "subject_id", "primary key")
equal(str(p.export_version()), "15.2.1", "version")
equal([i["instrument_name"] for i in p.export_instruments()], ["enrollment", "cognitive_results", "visit_log"], "instruments")
equal([u["username"] for u in p.export_users()], ["integration"], "users")
equal(p.export_repeating_instruments_events(), [{"form_name": "visit_log", "custom_form_label": ""}], "repeating instruments")

# A classic project has no events, arms or mappings to export
refused(p.export_events, "You cannot export events for classic projects", "events")
refused(p.export_arms, "You cannot export arms for classic projects", "arms")
refused(p.export_instrument_event_mappings, "You cannot export form/event mappings for classic projects", "mappings")
refused(lambda: p.export_records(events=["baseline_arm_1"]), "classic project", "records by event")

records = p.export_records()
equal([r["subject_id"] for r in records if r["redcap_repeat_instrument"] == ""], ["1", "2", "4", "0007", "A-01/β"], "records")
equal("redcap_event_name" in records[0], False, "no event column")
equal(p.export_records(records=["4"], fields=["subject_id", "enrollment_date"])[0]["enrollment_date"], "", "a missing date")
equal(p.export_records(records=["A-01/β"], fields=["enrollment_date"])[0]["enrollment_date"], "2025-07", "a partial date")
eav = p.export_records(record_type="eav", records=["2"], fields=["accuracy"])
equal([r for r in eav if r["field_name"] == "accuracy"], [{"record": "2", "redcap_repeat_instrument": "", "redcap_repeat_instance": "", "field_name": "accuracy", "value": "0.9"}], "eav")

equal(p.import_records([{"subject_id": "50", "language": "de"}, {"subject_id": "51", "language": "fr"}]), {"count": 2}, "import")
equal(p.generate_next_record_name(), "52", "next record name")
equal(p.import_records([{"subject_id": "new", "language": "en"}], force_auto_number=True, return_content="auto_ids"), ["52,new"], "automatic numbers")
equal(p.import_records([{"subject_id": "50", "redcap_repeat_instrument": "visit_log", "redcap_repeat_instance": "new", "visit_reason": "First"}]), {"count": 1}, "new instance")
equal(p.import_records([{"subject_id": "50", "redcap_repeat_instrument": "visit_log", "redcap_repeat_instance": "new", "visit_reason": "Second"}]), {"count": 1}, "next instance")
log = [(r["redcap_repeat_instance"], r["visit_reason"]) for r in p.export_records(records=["50"]) if r["redcap_repeat_instrument"] == "visit_log"]
equal(log, [(1, "First"), (2, "Second")], "instances")
equal("subject_id" in p.export_records(format_type="csv"), True, "csv")
equal("<records>" in p.export_records(format_type="xml"), True, "xml")
refused(lambda: p.import_records([{"record_id": "1", "language": "en"}]), "record_id", "another primary key")
refused(lambda: p.import_records([{"subject_id": "1", "redcap_event_name": "baseline_arm_1", "language": "en"}]), "redcap_event_name", "an event in a classic project")
equal(p.delete_records(["50", "51", "52"]), 3, "delete")

print("classic: all as expected")
