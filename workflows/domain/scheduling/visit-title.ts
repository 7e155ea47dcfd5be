/** A visit without a given name has the unique name of its capture-system event, such as `week_4_arm_1`. */
const EVENT_NAME = /^([a-z0-9]+(?:_[a-z0-9]+)*)_arm_\d+$/;

/** The displayed name of a visit: `Week 4` for `week_4_arm_1`, any other name as it is. */
export function visitTitle(name: string): string {
  const words = EVENT_NAME.exec(name)?.[1]?.replaceAll('_', ' ');
  return words === undefined ? name : words.charAt(0).toUpperCase() + words.slice(1);
}
