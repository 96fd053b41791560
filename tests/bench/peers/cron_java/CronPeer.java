// How fast Quartz's CronExpression, which xxl-job has a copy of, compiles expressions and finds next
// fires; see compare_cron.py.
import java.time.Instant;
import java.util.Date;
import java.util.Map;
import java.util.TimeZone;
import org.json.JSONObject;
import org.quartz.CronExpression;

public class CronPeer {
  interface Call {
    void run() throws Exception;
  }

  // As Quartz writes them: with seconds, and one of the two days left open.
  static final Map<String, String> OURS = Map.of(
      "0 2 * * *", "0 0 2 * * ?",
      "*/5 * * * *", "0 0/5 * * * ?",
      "0 9-17 * * 1-5", "0 0 9-17 ? * MON-FRI",
      "30 2 1 1 *", "0 30 2 1 1 ?",
      "0 0 29 2 *", "0 0 0 29 2 ?");

  static double nanoseconds(long ms, Call call) throws Exception {
    double result = 0;
    // The first round is the compiler's.
    for (int round = 0; round < 2; ++round) {
      final long begin = System.nanoTime();
      long calls = 0;
      while (System.nanoTime() - begin < ms * 1_000_000) {
        for (int i = 0; i < 100; ++i) call.run();
        calls += 100;
      }
      result = (double) (System.nanoTime() - begin) / calls;
    }
    return result;
  }

  public static void main(String[] words) throws Exception {
    final JSONObject plan = new JSONObject(words[0]);
    final long ms = plan.getLong("ms");
    final Date start = Date.from(Instant.parse(plan.getString("start")));
    final TimeZone zone = TimeZone.getTimeZone(plan.getString("zone"));
    final JSONObject measured = new JSONObject();
    for (String what : plan.getJSONObject("expressions").keySet()) {
      final String text = OURS.get(plan.getJSONObject("expressions").getString(what));
      final CronExpression expression = new CronExpression(text);
      expression.setTimeZone(zone);
      final Date[] last = {start};
      final JSONObject figures = new JSONObject();
      figures.put("compile", nanoseconds(ms, () -> new CronExpression(text)));
      figures.put("next", nanoseconds(ms, () -> {
        last[0] = expression.getNextValidTimeAfter(last[0]);
        if (last[0] == null) last[0] = start;
      }));
      measured.put(what, figures);
    }
    System.out.println(new JSONObject(Map.of("quartz", measured)));
  }
}
