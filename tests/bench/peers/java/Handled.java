import java.util.Base64;
import java.util.BitSet;
import org.json.JSONObject;

/** What a worker has run: a bit for each job's number, and another for what it has run again. */
final class Handled {
  private long count;
  private double first;
  private double last;
  private final BitSet ran = new BitSet();
  private final BitSet twice = new BitSet();

  synchronized void add(long number) {
    last = System.currentTimeMillis();
    if (count == 0) {
      first = last;
    }
    count += 1;
    int bit = Math.toIntExact(number);
    if (ran.get(bit)) {
      twice.set(bit);
    }
    ran.set(bit);
  }

  synchronized JSONObject report() {
    return new JSONObject().put("count", count).put("first", first).put("last", last)
        .put("ran", text(ran)).put("twice", text(twice));
  }

  private static String text(BitSet bits) {
    return Base64.getEncoder().encodeToString(bits.toByteArray());
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
