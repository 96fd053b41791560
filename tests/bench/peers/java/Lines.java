import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;
import org.json.JSONObject;

/** JSON lines on stdin are commands by name, each answered by one line on stdout. */
final class Lines {
  /** A null answer is not said. */
  interface Command {
    JSONObject run(JSONObject options) throws Exception;
  }

  private Lines() {}

  static synchronized void say(JSONObject value) {
    System.out.println(value);
    System.out.flush();
  }

  static void answer(JSONObject value) {
    say(new JSONObject().put("answer", value));
  }

  /** Ends the process when stdin ends or a command fails. */
  static void serve(Map<String, Command> commands) throws Exception {
    var lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      var options = new JSONObject(line);
      try {
        var value = commands.get(options.getString("do")).run(options);
        if (value != null) {
          answer(value);
        }
      } catch (Exception failed) {
        failed.printStackTrace();
        System.exit(1);
      }
    }
    System.exit(0);
  }
}
