package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
)

// What was run. Every job carries its number: if their count and their sum are right, each was run
// once.
type handled struct {
	mutex       sync.Mutex
	count, sum  int64
	first, last float64
}

func nowMs() float64 { return float64(time.Now().UnixMicro()) / 1e3 }

func (h *handled) add(number int64) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.last = nowMs()
	if h.count == 0 {
		h.first = h.last
	}
	h.count++
	h.sum += number
}

func (h *handled) answer() answer {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return answer{"count": h.count, "sum": h.sum, "first": h.first, "last": h.last}
}

func serveWorker(ctx context.Context) error {
	var done handled
	client, _, err := open(ctx, 10, done.add)
	if err != nil {
		return err
	}
	say(answer{"answer": answer{"ready": true}})
	return serve(map[string]func(options) (answer, error){
		"go": func(options) (answer, error) {
			// A job counts when its end is committed; `river bench` counts in the same way.
			ended, _ := client.SubscribeConfig(&river.SubscribeConfig{
				ChanSize: 1_000_000, Kinds: []river.EventKind{river.EventKindJobCompleted}})
			go report(ended)
			return nil, client.Start(ctx)
		},
		"report": func(options) (answer, error) { return done.answer(), nil },
	})
}

// Says how many have ended now and then, when it has changed.
func report(ended <-chan *river.Event) {
	var count atomic.Int64
	go func() {
		for range ended {
			count.Add(1)
		}
	}()
	said := int64(0)
	for range time.Tick(20 * time.Millisecond) {
		if now := count.Load(); now != said {
			said = now
			say(answer{"handled": said})
		}
	}
}
