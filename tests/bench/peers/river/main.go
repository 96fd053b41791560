// River with the settings of its own `river bench`: `river client` or `river worker`.
package main

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// Best of 1000 to 10 000 where it was tried; `river bench` has 2 000.
const workers = 1000

var pad = strings.Repeat("x", 80) // about 100 bytes with the rest

type noop struct {
	Number int64  `json:"number"`
	Pad    string `json:"pad"`
}

func (noop) Kind() string { return "noop" }

type noopWorker struct {
	river.WorkerDefaults[noop]
	started func(number int64)
}

func (w *noopWorker) Work(_ context.Context, job *river.Job[noop]) error {
	w.started(job.Args.Number)
	return nil
}

type riverClient = river.Client[pgx.Tx]

// A client that works jobs too, or only inserts without `started`.
func open(ctx context.Context, connections int32, started func(int64)) (*riverClient, *pgxpool.Pool, error) {
	settings, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		return nil, nil, err
	}
	settings.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(ctx, settings)
	if err != nil {
		return nil, nil, err
	}
	config := &river.Config{Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))}
	if started != nil {
		config.FetchCooldown = 2 * time.Millisecond
		config.FetchPollInterval = 20 * time.Millisecond
		config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}}
		config.Workers = river.NewWorkers()
		river.AddWorker(config.Workers, &noopWorker{started: started})
	}
	client, err := river.NewClient(riverpgxv5.New(pool), config)
	return client, pool, err
}

func main() {
	var err error
	if len(os.Args) == 2 && os.Args[1] == "client" {
		err = serveClient(context.Background())
	} else {
		err = serveWorker(context.Background())
	}
	if err != nil {
		slog.Error(err.Error())
		os.Exit(1)
	}
}
