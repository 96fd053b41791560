import org.json.JSONObject;

/**
 * What a worker has run. Every job carries its number: if their count and their sum are right, each
 * was run once.
 */
final class Handled {
  private long count;
  private long sum;
  private double first;
  private double last;

  synchronized void add(long number) {
    last = System.currentTimeMillis();
    if (count == 0) {
      first = last;
    }
    count += 1;
    sum += number;
  }

  synchronized JSONObject report() {
    return new JSONObject().put("count", count).put("sum", sum).put("first", first).put("last", last);
  }

  private synchronized long count() {
    return count;
  }

  /** Says the count now and then, when it has changed. */
  void sayCounts() {
    var thread = new Thread(() -> {
      for (long said = 0; ; ) {
        long now = count();
        if (now != said) {
          said = now;
          Lines.say(new JSONObject().put("handled", said));
        }
        try {
          Thread.sleep(20);
        } catch (InterruptedException stop) {
          return;
        }
      }
    });
    thread.setDaemon(true);
    thread.start();
  }
}
