/** A value that is not known to be right here: it waits for Python. */
export class Odd extends Error {}
