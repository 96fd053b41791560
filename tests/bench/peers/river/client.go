package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type submitter struct {
	client  *riverClient
	pool    *pgxpool.Pool
	handled atomic.Int64 // by all workers, as the driver says
}

func serveClient(ctx context.Context) error {
	client, pool, err := open(ctx, 50, nil)
	if err != nil {
		return err
	}
	s := &submitter{client: client, pool: pool}
	with := func(run func(context.Context, options) (answer, error)) func(options) (answer, error) {
		return func(o options) (answer, error) { return run(ctx, o) }
	}
	return serve(map[string]func(options) (answer, error){
		"prepare": with(s.prepare),
		"submit":  with(s.submit),
		"singles": with(s.singles),
		"burst":   with(s.burst),
		"flow":    with(s.flow),
		"latency": with(s.latency),
		"left":    with(s.left),
		"handled": func(o options) (answer, error) {
			s.handled.Store(o.Count)
			return nil, nil
		},
	})
}

func (s *submitter) prepare(ctx context.Context, _ options) (answer, error) {
	migrator, err := rivermigrate.New(riverpgxv5.New(s.pool), nil)
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	if _, err := s.pool.Exec(ctx, "TRUNCATE river_job"); err != nil {
		return nil, err
	}
	_, err = s.pool.Exec(ctx, "VACUUM FULL river_job")
	return answer{}, err
}

// By COPY, a batch a call.
func (s *submitter) insert(ctx context.Context, from, to, batch int64, due time.Time) error {
	for at := from; at < to; at += batch {
		jobs := make([]river.InsertManyParams, 0, batch)
		for number := at; number < min(to, at+batch); number++ {
			jobs = append(jobs, river.InsertManyParams{
				Args: noop{Number: number, Pad: pad}, InsertOpts: &river.InsertOpts{ScheduledAt: due}})
		}
		if _, err := s.client.InsertManyFast(ctx, jobs); err != nil {
			return err
		}
	}
	return nil
}

func (s *submitter) insertOne(ctx context.Context, client *riverClient, number int64) error {
	_, err := client.Insert(ctx, noop{Number: number, Pad: pad}, nil)
	return err
}

func (s *submitter) submit(ctx context.Context, o options) (answer, error) {
	begin := nowMs()
	err := s.insert(ctx, 0, o.Jobs, o.Batch, time.Time{})
	return answer{"ms": nowMs() - begin}, err
}

func (s *submitter) singles(ctx context.Context, o options) (answer, error) {
	var next atomic.Int64
	var mutex sync.Mutex
	var failed error
	took := make([]float64, 0, o.Jobs)
	var clients sync.WaitGroup
	begin := nowMs()
	for range o.Clients {
		clients.Add(1)
		go func() {
			defer clients.Done()
			for number := next.Add(1) - 1; number < o.Jobs; number = next.Add(1) - 1 {
				sent := nowMs()
				err := s.insertOne(ctx, s.client, number)
				mutex.Lock()
				took = append(took, nowMs()-sent)
				if err != nil {
					failed = err
				}
				mutex.Unlock()
			}
		}()
	}
	clients.Wait()
	return answer{"ms": nowMs() - begin, "took": took}, failed
}

// All of them due at one instant to come.
func (s *submitter) burst(ctx context.Context, o options) (answer, error) {
	due := time.Now().Add(time.Duration(o.LeadMs) * time.Millisecond).Truncate(time.Millisecond)
	err := s.insert(ctx, 0, o.Jobs, o.Batch, due)
	return answer{"due": due.UnixMilli()}, err
}

// Keeps `ahead` jobs waiting for some time.
func (s *submitter) flow(ctx context.Context, o options) (answer, error) {
	until := time.Now().Add(time.Duration(o.Seconds) * time.Second)
	submitted := int64(0)
	for time.Now().Before(until) {
		if submitted-s.handled.Load() > o.Ahead {
			time.Sleep(2 * time.Millisecond)
			continue
		}
		if err := s.insert(ctx, submitted, submitted+o.Batch, o.Batch, time.Time{}); err != nil {
			return nil, err
		}
		submitted += o.Batch
	}
	return answer{"submitted": submitted}, nil
}

// One job at a time, from just before the call to the worker's first line, in one process.
func (s *submitter) latency(ctx context.Context, o options) (answer, error) {
	started := make(chan float64, 1)
	client, pool, err := open(ctx, 10, func(int64) { started <- nowMs() })
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	if err := client.Start(ctx); err != nil {
		return nil, err
	}
	ms := []float64{}
	for number := range o.WarmUp + o.Jobs {
		begin := nowMs()
		if err := s.insertOne(ctx, client, number); err != nil {
			return nil, err
		}
		at := <-started
		if number >= o.WarmUp {
			ms = append(ms, at-begin)
		}
		time.Sleep(time.Duration(o.GapMs) * time.Millisecond)
	}
	return answer{"ms": ms}, client.Stop(ctx)
}

// Ended jobs stay in the table for a day.
func (s *submitter) left(ctx context.Context, _ options) (answer, error) {
	var count int64
	err := s.pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state <> 'completed'").Scan(&count)
	return answer{"left": count}, err
}
