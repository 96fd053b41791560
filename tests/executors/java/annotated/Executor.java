import com.xxl.job.core.context.XxlJobHelper;
import com.xxl.job.core.executor.impl.XxlJobSimpleExecutor;
import com.xxl.job.core.handler.annotation.XxlJob;
import java.util.List;

/** An executor of xxl-job since 2.3: handlers are methods, and set their result. */
public final class Executor {
  @XxlJob("echo")
  public void echo() throws InterruptedException {
    run("echo");
  }

  @XxlJob("fail")
  public void fail() throws InterruptedException {
    run("fail");
  }

  @XxlJob("sleep")
  public void sleep() throws InterruptedException {
    run("sleep");
  }

  @XxlJob("log")
  public void log() throws InterruptedException {
    run("log");
  }

  private static void run(String handler) throws InterruptedException {
    try {
      XxlJobHelper.handleSuccess(
          Handlers.run(
              handler,
              XxlJobHelper.getJobParam(),
              XxlJobHelper.getShardIndex(),
              XxlJobHelper.getShardTotal(),
              line -> XxlJobHelper.log(line)));
    } catch (Handlers.Failure failure) {
      XxlJobHelper.handleFail(failure.getMessage());
    }
  }

  public static void main(String[] args) throws Exception {
    XxlJobSimpleExecutor executor = new XxlJobSimpleExecutor();
    executor.setXxlJobBeanList(List.of(new Executor()));
    executor.setAdminAddresses(args[0]);
    executor.setAppname(args[1]);
    executor.setAddress("http://127.0.0.1:" + args[2] + "/");
    executor.setPort(Integer.parseInt(args[2]));
    executor.setAccessToken(args[3]);
    executor.setLogPath(args[4]);
    Runtime.getRuntime().addShutdownHook(new Thread(executor::destroy));
    executor.start();
    Thread.currentThread().join();
  }
}
