# experiments/REPORT.md from the tables in experiments/reports/, which recipes write to runs/RECIPE/report.json: one that is to
# be shown is copied to experiments/reports/NAME.json, with words about it in experiments/reports/NAME.md, and has a target
# report-NAME that builds a small slice of it again. experiments/reports/tables/ has tables of other recipes as they
# were written, for docs/results.md. With AGAIN=SYSTEM SEED=NUMBER that model is trained again, and in the slice too.
.PHONY: report

TELL := OMP_NUM_THREADS=1 $(BIN)/python -m experiments.report
# a table goes on where another machine stopped: what experiments/reports/NAME.json and NAME.values.jsonl.gz have of trained
# models is not made again: make RECIPE KEPT=experiments/reports/NAME.json
GATHER = $(TELL) gather $(addprefix --kept ,$(KEPT))
ifneq ($(KEPT),)
$(if $(wildcard $(KEPT:.json=.values.jsonl.gz)),,$(error $(KEPT) has no values of each query beside it: leave KEPT out))
KEPT_RUNS := $(shell $(TELL) runs '$(KEPT)')
endif

AGAIN_SEED = $(if $(AGAIN),$(or $(SEED),0))

# with DATA=FOLDER, which has all data, slices of the tables are built again
report: $(INSTALLED)
	@$(if $(filter command%,$(origin DATA)),$(MAKE) --no-print-directory $(patsubst experiments/reports/%.json,report-%,$(wildcard experiments/reports/*.json)))
	$(TELL) write
