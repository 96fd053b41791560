import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.net.URI;
import java.sql.SQLException;

/** The database of DATABASE_URL. */
final class Database {
  static final URI URL = URI.create(System.getenv("DATABASE_URL"));
  static final String USER = URL.getUserInfo().split(":")[0];
  static final String PASSWORD = URL.getUserInfo().split(":")[1];
  static final String JDBC_URL =
      "jdbc:postgresql://" + URL.getHost() + ":" + URL.getPort() + URL.getPath()
          + "?reWriteBatchedInserts=true";

  private Database() {}

  static HikariDataSource open(int connections) {
    var config = new HikariConfig();
    config.setJdbcUrl(JDBC_URL);
    config.setUsername(USER);
    config.setPassword(PASSWORD);
    config.setMaximumPoolSize(connections);
    return new HikariDataSource(config);
  }

  static void run(HikariDataSource database, String script) throws SQLException {
    try (var connection = database.getConnection(); var statement = connection.createStatement()) {
      statement.execute(script);
    }
  }

  static long count(HikariDataSource database, String query) throws SQLException {
    try (var connection = database.getConnection();
        var statement = connection.createStatement();
        var rows = statement.executeQuery(query)) {
      rows.next();
      return rows.getLong(1);
    }
  }
}
