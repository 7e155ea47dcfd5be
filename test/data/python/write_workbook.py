"""Writes workbooks of participants with a writer that is not the service's own."""
import datetime
import sys

import openpyxl
import pandas
from openpyxl.styles import Font
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.table import Table

folder = sys.argv[1]
book = openpyxl.Workbook()
sheet = book.active
sheet.title = 'Teilnehmende'
sheet.append(['participant_code', 'external_id', 'Site', 'preferred_language', 'date_of_birth', 'Notes'])
sheet.append(['0001', 12, 'BER', 'de', datetime.date(1960, 2, 29), 'left out'])
sheet.append([7, 'R-2', None, 'en', datetime.datetime(1971, 12, 31), None])
sheet.append([None] * 6)
sheet.append(['Zoë', '=1+1', 'NOWHERE', 'fr', '1980-01-05', None])
sheet['A3'].number_format = '000'
for cell in sheet[1]:
    cell.font = Font(bold=True)
sheet.add_table(Table(displayName='People', ref='A1:F5'))
choice = DataValidation(type='list', formula1='"BER,MUC"')
sheet.add_data_validation(choice)
choice.add('C2:C100')
sheet.merge_cells('H1:I2')
sheet['H1'] = None
book.create_sheet('Other').append(['participant_code'])
book.save(f'{folder}/openpyxl.xlsx')

pandas.DataFrame({'participant_code': ['PD-1', 'PD-2'], 'external_id': [1, 2], 'date_of_birth': pandas.to_datetime(['1950-01-01', '1951-02-03'])}).to_excel(f'{folder}/pandas.xlsx', index=False)
pandas.DataFrame({'participant_code': ['PC-1', 'PC-2'], 'preferred_language': ['el', None]}).to_csv(f'{folder}/pandas.csv', index=False, sep=';', encoding='utf-8-sig')
