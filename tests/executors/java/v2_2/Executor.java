import com.xxl.job.core.biz.model.ReturnT;
import com.xxl.job.core.executor.XxlJobExecutor;
import com.xxl.job.core.handler.IJobHandler;
import com.xxl.job.core.log.XxlJobLogger;
import com.xxl.job.core.util.ShardingUtil;

/** An executor of xxl-job 2.2: handlers are objects, and return their result. */
public final class Executor {
  private static IJobHandler handler(String name) {
    return new IJobHandler() {
      @Override
      public ReturnT<String> execute(String param) throws Exception {
        ShardingUtil.ShardingVO shard = ShardingUtil.getShardingVo();
        try {
          String message =
              Handlers.run(
                  name, param, shard.getIndex(), shard.getTotal(), line -> XxlJobLogger.log(line));
          return new ReturnT<>(ReturnT.SUCCESS_CODE, message);
        } catch (Handlers.Failure failure) {
          return new ReturnT<>(ReturnT.FAIL_CODE, failure.getMessage());
        }
      }
    };
  }

  public static void main(String[] args) throws Exception {
    for (String name : new String[] {"echo", "fail", "sleep", "log"}) {
      XxlJobExecutor.registJobHandler(name, handler(name));
    }
    XxlJobExecutor executor = new XxlJobExecutor();
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
