import java.time.Instant;
import java.util.ArrayList;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.json.JSONObject;

/** The workloads of a client, made of a call that inserts many jobs and one that inserts one. */
abstract class Submitter {
  static final String PAD = "x".repeat(80);  // about 100 bytes with the rest

  abstract void prepare() throws Exception;

  /** In one call. */
  abstract void insert(long from, long to, Instant due) throws Exception;

  abstract void insertOne(long number) throws Exception;

  abstract long left() throws Exception;

  void serve() throws Exception {
    Lines.serve(Map.of(
        "prepare", options -> {
          prepare();
          return new JSONObject();
        },
        "left", options -> new JSONObject().put("left", left()),
        "submit", this::submit,
        "burst", this::burst,
        "singles", this::singles));
  }

  private JSONObject submit(JSONObject options) throws Exception {
    long jobs = options.getLong("jobs");
    long batch = options.getLong("batch");
    long begin = System.nanoTime();
    for (long at = 0; at < jobs; at += batch) {
      insert(at, Math.min(jobs, at + batch), Instant.now());
    }
    return new JSONObject().put("ms", (System.nanoTime() - begin) / 1e6);
  }

  /** All of them due at one instant to come. */
  private JSONObject burst(JSONObject options) throws Exception {
    long jobs = options.getLong("jobs");
    long batch = options.getLong("batch");
    long due = System.currentTimeMillis() + options.getLong("lead_ms");
    for (long at = 0; at < jobs; at += batch) {
      insert(at, Math.min(jobs, at + batch), Instant.ofEpochMilli(due));
    }
    return new JSONObject().put("due", due);
  }

  private JSONObject singles(JSONObject options) throws Exception {
    long jobs = options.getLong("jobs");
    int clients = options.getInt("clients");
    var next = new AtomicLong();
    var took = new ArrayList<Double>();
    Callable<Void> client = () -> {
      for (long number = next.getAndIncrement(); number < jobs; number = next.getAndIncrement()) {
        long sent = System.nanoTime();
        insertOne(number);
        synchronized (took) {
          took.add((System.nanoTime() - sent) / 1e6);
        }
      }
      return null;
    };
    var threads = Executors.newFixedThreadPool(clients);
    long begin = System.nanoTime();
    var running = new ArrayList<Future<Void>>();
    for (int i = 0; i < clients; ++i) {
      running.add(threads.submit(client));
    }
    for (var one : running) {
      one.get();
    }
    threads.shutdown();
    return new JSONObject().put("ms", (System.nanoTime() - begin) / 1e6).put("took", took);
  }
}
