import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.elasticrec.ElasticStream;

/** Answers lines as device/c/testing/driver.c does, through ElasticStream. */
public final class Driver {
  private static ElasticStream stream;

  public static void main(String[] words) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = lines.readLine()) != null; ) {
      String said;
      try {
        said = answer(line.split(" "));
      } catch (IllegalArgumentException refused) {
        said = "refused " + refused.getMessage();
      }
      System.out.println(said);
    }
  }

  private static String answer(String[] w) {
    switch (w[0]) {
      case "open":
        if (stream != null) stream.close();
        stream = null;
        ByteBuffer data = direct(w[1]);
        int most = Math.max(data.limit(), Integer.parseInt(w[4]));
        byte[] key = w[2].equals("-") ? null : bytes(w[2]);
        stream = ElasticStream.open(data, most, Long.parseUnsignedLong(w[3]), key);
        return "ok " + stream.info()[4] + " 0 0";
      case "refresh":
        return "ok " + stream.refresh(direct(w[1]));
      case "withdraw":
        stream.withdraw(bytes(w[1]));
        return "ok";
      case "info":
        StringBuilder all = new StringBuilder("ok");
        for (long each : stream.info()) all.append(' ').append(each);
        return all.append(" -").toString();
      default:
        return ask(w);
    }
  }

  private static String ask(String[] w) {
    byte[] vector = w[4].equals("none") ? null : bytes(w[4]);
    List<?> only = w[7].equals("all") ? null : ids(w[7]);
    ElasticStream.Answer found = stream.recommend(new ElasticStream.Question(
        ids(w[5]), vector, Integer.parseInt(w[1]), ids(w[6]), only, w[2].equals("1"), true,
        Double.parseDouble(w[3])));
    StringBuilder said = new StringBuilder("ok " + found.unknown() + " 0");
    for (ElasticStream.Item item : found.items()) {
      said.append(' ').append(shown(item.id())).append(':').append(item.score()).append(':');
      said.append(item.why() == null ? "-" : shown(item.why()));
    }
    return said.toString();
  }

  private static List<Object> ids(String list) {
    List<Object> found = new ArrayList<>();
    for (String each : list.equals("-") ? new String[0] : list.split(",")) {
      boolean text = stream.info()[10] == 3;
      found.add(text ? new String(bytes(each), StandardCharsets.UTF_8) : (Object) Long.parseUnsignedLong(each));
    }
    return found;
  }

  private static String shown(Object id) {
    if (id instanceof Long) return Long.toUnsignedString((Long) id);
    return HexFormat.of().formatHex(((String) id).getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] bytes(String hex) {
    return hex.equals("-") ? new byte[0] : HexFormat.of().parseHex(hex);
  }

  private static ByteBuffer direct(String hex) {
    byte[] all = bytes(hex);
    return ByteBuffer.allocateDirect(all.length).put(all).flip();
  }
}
