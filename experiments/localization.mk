# The files that the repair of a fault changed, found by its report. The folders of 51 commits and what is read of them
# are kept in runs/localization, so that a second run takes some minutes. ROWS leaves rows out.
.PHONY: localization

LOCALIZATION := runs/localization
ROWS := bm25 title ask parts held-out

localization: $(INSTALLED) ## The files of a bug report
	$(call needs,localization/issues.jsonl.xz)
	OMP_NUM_THREADS=1 $(BIN)/python -m experiments.localization $(ROWS) --data $(DATA)/localization --folder $(LOCALIZATION) \
	  -o $(LOCALIZATION)/table.md
	@cat $(LOCALIZATION)/table.md
