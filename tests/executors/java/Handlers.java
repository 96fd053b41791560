import java.util.function.Consumer;

/** What the executors can do, whichever version of the library has it run. */
final class Handlers {
  /** The run has failed, and this is its message. */
  static final class Failure extends Exception {
    Failure(String message) {
      super(message);
    }
  }

  /** The message of the success. */
  static String run(String handler, String param, int index, int total, Consumer<String> log)
      throws Failure, InterruptedException {
    String shard = index + "/" + total;
    System.out.println("runs " + handler + " " + param + " " + shard);
    switch (handler) {
      case "echo":
        return param + " " + shard;
      case "fail":
        throw new Failure(param);
      case "sleep":
        Thread.sleep(Long.parseLong(param));
        return "slept " + param;
      case "log":
        for (int line = 1; line <= Integer.parseInt(param); ++line) {
          log.accept("line " + line);
        }
        return param + " lines";
      default:
        throw new IllegalArgumentException(handler);
    }
  }

  private Handlers() {}
}
