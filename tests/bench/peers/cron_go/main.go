// How fast robfig/cron compiles expressions and finds next fires; see compare_cron.py.
package main

import (
	"encoding/json"
	"os"
	"time"

	"github.com/robfig/cron/v3"
)

type plan struct {
	Expressions map[string]string `json:"expressions"`
	Zone        string            `json:"zone"`
	Start       time.Time         `json:"start"`
	Ms          int64             `json:"ms"`
}

type figures struct {
	Compile float64 `json:"compile"`
	Next    float64 `json:"next"`
}

func nanoseconds(ms int64, call func()) float64 {
	begin := time.Now()
	calls := 0
	for time.Since(begin) < time.Duration(ms)*time.Millisecond {
		for range 100 {
			call()
		}
		calls += 100
	}
	return float64(time.Since(begin).Nanoseconds()) / float64(calls)
}

func main() {
	var todo plan
	if err := json.Unmarshal([]byte(os.Args[1]), &todo); err != nil {
		panic(err)
	}
	zone, err := time.LoadLocation(todo.Zone)
	if err != nil {
		panic(err)
	}
	measured := map[string]figures{}
	for what, text := range todo.Expressions {
		schedule, err := cron.ParseStandard(text)
		if err != nil {
			panic(err)
		}
		// With CRON_TZ in the text every compilation would read the zone's file.
		schedule.(*cron.SpecSchedule).Location = zone
		last := todo.Start.In(zone)
		measured[what] = figures{
			Compile: nanoseconds(todo.Ms, func() {
				if _, err := cron.ParseStandard(text); err != nil {
					panic(err)
				}
			}),
			Next: nanoseconds(todo.Ms, func() {
				if last = schedule.Next(last); last.IsZero() {
					last = todo.Start
				}
			}),
		}
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"robfig/cron": measured})
}
