import com.github.kagkarlsson.scheduler.Scheduler;
import com.github.kagkarlsson.scheduler.SchedulerClient;
import com.github.kagkarlsson.scheduler.task.TaskInstance;
import com.github.kagkarlsson.scheduler.task.helper.OneTimeTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Map;
import org.json.JSONObject;

/** db-scheduler: `client` or `worker`. */
final class DbSchedulerPeer extends Submitter {
  private static final int THREADS = 20;  // of each of the two workers
  // The table of its documentation.
  private static final String TABLE = """
      DROP TABLE IF EXISTS scheduled_tasks;
      CREATE TABLE scheduled_tasks (
        task_name TEXT NOT NULL,
        task_instance TEXT NOT NULL,
        task_data BYTEA,
        execution_time TIMESTAMP WITH TIME ZONE NOT NULL,
        picked BOOLEAN NOT NULL,
        picked_by TEXT,
        last_success TIMESTAMP WITH TIME ZONE,
        last_failure TIMESTAMP WITH TIME ZONE,
        consecutive_failures INT,
        last_heartbeat TIMESTAMP WITH TIME ZONE,
        version BIGINT NOT NULL,
        priority SMALLINT,
        PRIMARY KEY (task_name, task_instance)
      );
      CREATE INDEX execution_time_idx ON scheduled_tasks (execution_time);
      CREATE INDEX last_heartbeat_idx ON scheduled_tasks (last_heartbeat);
      """;

  private final HikariDataSource database = Database.open(50);
  private final OneTimeTask<String> task = taskOf(number -> {});
  private final SchedulerClient client = SchedulerClient.Builder.create(database, task).build();

  private interface OnRun {
    void ran(long number);
  }

  private static OneTimeTask<String> taskOf(OnRun onRun) {
    return Tasks.oneTime("noop", String.class)
        .execute((instance, context) -> onRun.ran(Long.parseLong(instance.getId())));
  }

  @Override
  void prepare() throws Exception {
    Database.run(database, TABLE);
  }

  @Override
  void insert(long from, long to, Instant due) {
    var jobs = new ArrayList<TaskInstance<?>>();
    for (long number = from; number < to; ++number) {
      jobs.add(task.instance(Long.toString(number), PAD));
    }
    client.scheduleBatch(jobs, due);
  }

  @Override
  void insertOne(long number) {
    client.schedule(task.instance(Long.toString(number), PAD), Instant.now());
  }

  @Override
  long left() throws Exception {
    return Database.count(database, "SELECT count(*) FROM scheduled_tasks");
  }

  private static void work() throws Exception {
    var handled = new Handled();
    var scheduler = Scheduler.create(Database.open(THREADS + 5), taskOf(handled::add))
        .threads(THREADS)
        // A statement fetches and locks up to four jobs a thread, when fewer than one is left.
        .pollUsingLockAndFetch(1.0, 4.0)
        .pollingInterval(Duration.ofMillis(20))
        .build();
    Lines.answer(new JSONObject().put("ready", true));
    Lines.serve(Map.of(
        "go", options -> {
          handled.sayCounts();
          scheduler.start();
          return null;
        },
        "report", options -> handled.report()));
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments[0].equals("client")) {
      new DbSchedulerPeer().serve();
    } else {
      work();
    }
  }
}
