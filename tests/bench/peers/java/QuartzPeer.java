import com.zaxxer.hikari.HikariDataSource;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Date;
import java.util.HashSet;
import java.util.Map;
import java.util.Properties;
import org.json.JSONObject;
import org.quartz.Job;
import org.quartz.JobBuilder;
import org.quartz.JobDetail;
import org.quartz.JobExecutionContext;
import org.quartz.JobKey;
import org.quartz.Scheduler;
import org.quartz.SchedulerException;
import org.quartz.Trigger;
import org.quartz.TriggerBuilder;
import org.quartz.impl.StdSchedulerFactory;

/** Quartz with its clustered store: `client` or `worker`. A job is a trigger that fires once. */
public final class QuartzPeer extends Submitter {
  private static final int THREADS = 20;  // of each of the two workers
  private static final JobKey NOOP = JobKey.jobKey("noop");
  private static final JobDetail JOB =
      JobBuilder.newJob(Noop.class).withIdentity(NOOP).storeDurably().build();
  private static final Handled HANDLED = new Handled();

  public static final class Noop implements Job {
    @Override
    public void execute(JobExecutionContext context) {
      HANDLED.add(Long.parseLong(context.getTrigger().getKey().getName()));
    }
  }

  private final HikariDataSource database = Database.open(2);
  private Scheduler scheduler;

  private static Scheduler open(int connections) throws SchedulerException {
    var settings = new Properties();
    settings.putAll(Map.ofEntries(
        Map.entry("org.quartz.scheduler.instanceName", "bench"),
        Map.entry("org.quartz.scheduler.instanceId", "AUTO"),
        Map.entry("org.quartz.scheduler.skipUpdateCheck", "true"),
        Map.entry("org.quartz.scheduler.batchTriggerAcquisitionMaxCount", "20"),
        // It looks for what others have added so often, ms; by default each half a minute.
        Map.entry("org.quartz.scheduler.idleWaitTime", "1000"),
        Map.entry("org.quartz.threadPool.class", "org.quartz.simpl.SimpleThreadPool"),
        Map.entry("org.quartz.threadPool.threadCount", Integer.toString(THREADS)),
        Map.entry("org.quartz.jobStore.class", "org.quartz.impl.jdbcjobstore.JobStoreTX"),
        Map.entry("org.quartz.jobStore.driverDelegateClass",
            "org.quartz.impl.jdbcjobstore.PostgreSQLDelegate"),
        Map.entry("org.quartz.jobStore.isClustered", "true"),
        Map.entry("org.quartz.jobStore.acquireTriggersWithinLock", "true"),
        Map.entry("org.quartz.jobStore.misfireThreshold", "3600000"),
        Map.entry("org.quartz.jobStore.dataSource", "bench"),
        Map.entry("org.quartz.dataSource.bench.provider", "hikaricp"),
        Map.entry("org.quartz.dataSource.bench.driver", "org.postgresql.Driver"),
        Map.entry("org.quartz.dataSource.bench.URL", Database.JDBC_URL),
        Map.entry("org.quartz.dataSource.bench.user", Database.USER),
        Map.entry("org.quartz.dataSource.bench.password", Database.PASSWORD),
        Map.entry("org.quartz.dataSource.bench.maxConnections", Integer.toString(connections))));
    return new StdSchedulerFactory(settings).getScheduler();
  }

  @Override
  void prepare() throws Exception {
    if (scheduler != null) {
      scheduler.clear();
      scheduler.shutdown();
    }
    // The tables that come with it.
    var place = "/org/quartz/impl/jdbcjobstore/tables_postgres.sql";
    try (var tables = Scheduler.class.getResourceAsStream(place)) {
      Database.run(database, new String(tables.readAllBytes(), StandardCharsets.UTF_8));
    }
    scheduler = open(50);
    scheduler.addJob(JOB, true);
  }

  private static Trigger trigger(long number, Instant due) {
    return TriggerBuilder.newTrigger().withIdentity(Long.toString(number)).forJob(NOOP)
        .usingJobData("pad", PAD).startAt(Date.from(due)).build();
  }

  @Override
  void insert(long from, long to, Instant due) throws Exception {
    var triggers = new HashSet<Trigger>();
    for (long number = from; number < to; ++number) {
      triggers.add(trigger(number, due));
    }
    scheduler.scheduleJobs(Map.of(JOB, triggers), true);
  }

  @Override
  void insertOne(long number) throws Exception {
    scheduler.scheduleJob(trigger(number, Instant.now()));
  }

  @Override
  long left() throws Exception {
    return Database.count(database, "SELECT count(*) FROM qrtz_triggers");
  }

  private static void work() throws Exception {
    var scheduler = open(THREADS + 5);
    Lines.answer(new JSONObject().put("ready", true));
    Lines.serve(Map.of(
        "go", options -> {
          HANDLED.sayCounts();
          scheduler.start();
          return null;
        },
        "report", options -> HANDLED.report()));
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments[0].equals("client")) {
      new QuartzPeer().serve();
    } else {
      work();
    }
  }
}
