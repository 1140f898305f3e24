package dev.core5g.database;

import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;

/**
 * The embedded database of a core: MongoDB's wire protocol over documents in memory, for what the NRF,
 * PCF and CHF keep there. It is empty at each start, and the functions register and write again.
 * Production uses a real MongoDB instead.
 */
public final class Main {
    private static final int DEFAULT_PORT = 27017;

    private Main() {}

    public static void main(String[] args) throws InterruptedException {
        if (args.length > 1) {
            System.err.println("usage: database [port]");
            System.exit(2);
        }
        int port = args.length == 1 ? Integer.parseInt(args[0]) : DEFAULT_PORT;
        MongoServer server = new MongoServer(new MemoryBackend());
        server.bind(new InetSocketAddress("0.0.0.0", port));
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdownNow, "shutdown"));
        System.err.println("listening on port " + port);
        new CountDownLatch(1).await();
    }
}
