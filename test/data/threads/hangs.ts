/** A thread that never comes to an end. */
for (;;) Math.sqrt(2);
