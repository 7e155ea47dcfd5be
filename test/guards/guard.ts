/** A line that refuses or hides something, and the test that fails without it (`npm run test:guards`). */
export interface Guard {
  /** What it keeps from happening. */
  refuses: string;
  /** The source file that holds it. */
  file: string;
  /** Its text, which occurs once in that file. */
  text: string;
  /** What stands in its place when it is taken out. */
  without: string;
  /** The test file that shows it. */
  test: string;
  /** The test's title, or its beginning. */
  title: string;
}
