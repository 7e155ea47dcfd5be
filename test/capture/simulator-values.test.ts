import { expect } from 'chai';
import { parseDictionary } from '../capture-simulator/dictionary.js';
import { checkValue } from '../capture-simulator/validation.js';

/** Values that a validation accepts, and others that it refuses. */
const VALIDATIONS: Record<string, [accepted: string[], refused: string[]]> = {
  integer: [
    ['5', '-5', '+5'],
    ['5.0', ''],
  ],
  number: [
    ['5', '.5', '-5.25', '1e-3'],
    ['5,2', '5.', 'x'],
  ],
  number_comma_decimal: [
    ['5', '5,25'],
    ['5.2', '5,'],
  ],
  number_3dp_comma_decimal: [['5,250'], ['5,25', '5.250']],
  number_4dp: [['5.2500'], ['5.25']],
  phone: [
    ['615-555-0123', '(615) 555 0123'],
    ['512', '412.35'],
  ],
  ssn: [['123-45-6789'], ['123456789']],
  vmrn: [['123456'], ['512.35', '12']],
  mrn_10d: [['0123456789'], ['123']],
  postalcode_germany: [['01069'], ['412.35', '069']],
  zipcode: [['37203', '37203-0001'], ['512']],
  time_mm_ss: [['59:01'], ['60:01', '512']],
  alpha_only: [['abc'], ['5']],
};

describe('The capture simulator: values of an import', () => {
  for (const [validation, [accepted, refused]] of Object.entries(VALIDATIONS))
    it(`${validation} takes ${accepted.join(' and ')}, not ${refused.join(' or ')}`, () => {
      const [field] = parseDictionary(
        `field_name,form_name,field_type,text_validation_type_or_show_slider_number\nf,form,text,${validation}`,
      );
      const isTaken = (value: string) => 'value' in checkValue(field!, null, value, new Map(), 'YMD');
      expect(accepted.filter((value) => !isTaken(value))).to.deep.equal([]);
      expect(refused.filter(isTaken)).to.deep.equal([]);
    });
});
