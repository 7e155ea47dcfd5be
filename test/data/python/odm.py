"""Holds an ODM document against the schema of CDISC ODM 1.3.2, and its references against its definitions."""
import sys
from importlib.resources import files

from lxml import etree

NS = '{http://www.cdisc.org/ns/odm/v1.3}'
schema = etree.XMLSchema(etree.parse(str(files('defineutils') / 'validate/schema/cdisc-odm-1.3.2/ODM1-3-2.xsd')))
document = etree.parse(sys.argv[1])
if not schema.validate(document):
    sys.exit('\n'.join(f'{fault.line}: {fault.message}' for fault in list(schema.error_log)[:20]))

root = document.getroot()
defined = {
    kind: [one.get('OID') for one in root.iter(f'{NS}{kind}Def' if kind not in ('Location', 'CodeList') else f'{NS}{kind}')]
    for kind in ('StudyEvent', 'Form', 'ItemGroup', 'Item', 'CodeList', 'Location')
}
for kind, oids in defined.items():
    if len(oids) != len(set(oids)):
        sys.exit(f'{kind}: an OID is defined twice')
for element in root.iter():
    for kind, oids in defined.items():
        oid = element.get(f'{kind}OID')
        if oid is not None and oid not in oids:
            sys.exit(f'{element.tag}: {kind}OID {oid} is not defined')
# Each datum belongs to the group, form and event that says so.
within = {
    'Form': ('StudyEventDef', 'FormRef', 'StudyEventData', 'FormData'), 'ItemGroup': ('FormDef', 'ItemGroupRef', 'FormData', 'ItemGroupData'),
    'Item': ('ItemGroupDef', 'ItemRef', 'ItemGroupData', 'ItemData'),
}
for kind, (outer_def, ref, outer, inner) in within.items():
    allowed = {one.get('OID'): {each.get(f'{kind}OID') for each in one.iter(f'{NS}{ref}')} for one in root.iter(f'{NS}{outer_def}')}
    key = outer.removesuffix('Data') + 'OID'
    for one in root.iter(f'{NS}{outer}'):
        for each in one.findall(f'{NS}{inner}'):
            if each.get(f'{kind}OID') not in allowed[one.get(key)]:
                sys.exit(f'{each.get(kind + "OID")} is not part of {one.get(key)}')
print('valid', root.get('ODMVersion'), len(list(root.iter(f'{NS}SubjectData'))))
